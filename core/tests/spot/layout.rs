//! Sizes, offsets, tags and bytes of everything that is journalled or sent: a change here is a change of format.

use ringside_core::command::{self, Body, Command};
use ringside_core::event;
use ringside_core::ids::padded;
use ringside_core::money::RawAmount;
use ringside_core::reject::Reject;
use std::mem::offset_of;
use zerocopy::IntoBytes;

macro_rules! layout {
    ($name:path, $kind:expr, $tag:literal, $size:literal, $($field:ident $offset:literal),* $(,)?) => {
        assert_eq!($kind as u16, $tag, concat!("tag of ", stringify!($name)));
        assert_eq!(size_of::<$name>(), $size, concat!("size of ", stringify!($name)));
        $(assert_eq!(
            offset_of!($name, $field), $offset,
            concat!("offset of ", stringify!($name), ".", stringify!($field))
        );)*
    };
}

#[test]
fn commands() {
    use command::*;
    assert_eq!((size_of::<Command>(), align_of::<Command>()), (184, 8));
    assert_eq!(
        [
            offset_of!(Command, sequence),
            offset_of!(Command, time_ns),
            offset_of!(Command, source_seq),
            offset_of!(Command, source),
            offset_of!(Command, kind),
            offset_of!(Command, reserved),
            offset_of!(Command, body),
        ],
        [0, 8, 16, 24, 28, 30, 32]
    );
    layout!(PlaceOrder, PlaceOrder::KIND, 1, 64, account 0, market 4, side 8, order_type 9, time_in_force 10,
        self_trade 11, flags 12, price 16, quantity 24, quote_quantity 32, idempotency_key 48, idempotency_body 56);
    layout!(CancelOrder, CancelOrder::KIND, 2, 16, account 0, reserved 4, order 8);
    layout!(CancelAll, CancelAll::KIND, 3, 8, account 0, market 4);
    layout!(AmendOrder, AmendOrder::KIND, 4, 24, account 0, reserved 4, order 8, quantity 16);
    layout!(ReplaceOrder, ReplaceOrder::KIND, 5, 32, account 0, reserved 4, order 8, price 16, quantity 24);
    layout!(CreateAccount, CreateAccount::KIND, 16, 24, address 0, reserved 20);
    layout!(Credit, Credit::KIND, 17, 112, address 0, asset 20, reserved 30, amount 32, reason 48);
    layout!(OperatorNote, OperatorNote::KIND, 19, 152, operator 0, ip 16, subject 32, action 52, part 54, proven 55, reason 56, detail 120);
    layout!(ListMarket, ListMarket::KIND, 32, 88, symbol 0, base 20, quote 30, tick 40, lot 48, min_notional 56,
        maker_fee 72, taker_fee 76, max_open_orders 80, kind 84, reserved 85);
    layout!(UpdateMarket, UpdateMarket::KIND, 33, 48, market 0, mask 4, tick 8, lot 16, min_notional 24, maker_fee 40,
        taker_fee 44);
    layout!(SetMarketStatus, SetMarketStatus::KIND, 34, 8, market 0, status 4, reserved 5);
    layout!(AdvanceTime, AdvanceTime::KIND, 48, 0,);
    layout!(OpenEpoch, OpenEpoch::KIND, 49, 8, epoch 0, reserved 4);
    layout!(Checkpoint, Checkpoint::KIND, 50, 0,);
    layout!(VerifyHash, VerifyHash::KIND, 51, 24, checkpoint 0, hash 8);
    layout!(SkipCommand, SkipCommand::KIND, 52, 120, skipped 0, operators 8, reason 56);
    perpetual_commands();
    withdrawal_commands();
    assert_eq!(Kind::ALL.len(), 58, "a new kind belongs into this test");
}

#[test]
fn events() {
    use event::*;
    assert_eq!((size_of::<Event>(), align_of::<Event>()), (120, 8));
    assert_eq!(
        [
            offset_of!(Event, sequence),
            offset_of!(Event, time_ns),
            offset_of!(Event, index),
            offset_of!(Event, kind),
            offset_of!(Event, reserved),
            offset_of!(Event, payload),
        ],
        [0, 8, 16, 20, 22, 24]
    );
    layout!(Trade, Trade::KIND, 1, 88, trade 0, maker_order 8, taker_order 16, price 24, quantity 32, maker_fee 40,
        taker_fee 56, maker_account 72, taker_account 76, market 80, taker_side 84, maker_filled 85, reserved 86);
    layout!(Order, Order::KIND, 2, 72, order 0, account 8, market 12, side 16, order_type 17, time_in_force 18,
        status 19, is_new 20, is_amended 21, reject 22, price 24, quantity 32, quote_quantity 40, filled 56, open 64);
    layout!(Depth, Depth::KIND, 3, 40, update 0, price 8, total 16, market 32, side 36, reserved 37);
    layout!(Balances, Balances::KIND, 4, 80, account 0, base 4, quote 6, changed 8, base_available 16, base_frozen 32,
        quote_available 48, quote_frozen 64);
    layout!(AccountCreated, AccountCreated::KIND, 16, 24, address 0, account 20);
    layout!(AssetCreated, AssetCreated::KIND, 17, 16, name 0, asset 10, reserved 12);
    layout!(Credited, Credited::KIND, 18, 88, account 0, asset 4, reserved 6, amount 8, reason 24);
    layout!(OperatorNoted, OperatorNoted::KIND, 130, 56, operator 0, ip 16, subject 32, action 52, part 54, proven 55);
    layout!(OperatorReason, OperatorReason::KIND, 131, 96, reason 0, detail 64);
    layout!(Market, Market::KIND, 32, 80, market 0, base 4, quote 6, tick 8, lot 16, min_notional 24, maker_fee 40,
        taker_fee 44, max_open_orders 48, symbol 52, kind 72, status 73, reserved 74);
    layout!(StateHash, StateHash::KIND, 48, 16, hash 0);
    layout!(SpotLedger, SpotLedger::KIND, 49, 56, asset 0, reserved 2, available 8, frozen 24, credited 40);
    layout!(Done, Done::KIND, 64, 56, source_seq 0, source 8, command 12, reject 14, order 16, account 24, market 28,
        idempotency_key 32, replayed 40, update 48);
    perpetual_events();
    withdrawal_events();
    assert_eq!(Kind::ALL.len(), 58, "a new kind belongs into this test");
}

fn perpetual_commands() {
    use command::*;
    layout!(ListPerpetual, ListPerpetual::KIND, 64, 56, symbol 0, base 20, quote 30, tick 40, lot 48);
    layout!(SetPerpetualParameter, SetPerpetualParameter::KIND, 65, 16, market 0, parameter 4, value 8);
    layout!(SetBrackets, SetBrackets::KIND, 66, 136, market 0, count 4, caps 8, leverages 72, rates 104);
    layout!(SetPerpetualState, SetPerpetualState::KIND, 67, 8, market 0, state 4, reserved 5);
    layout!(SetVipTier, SetVipTier::KIND, 68, 32, tier 0, count 4, volume 8, maker_rate 16, taker_rate 24);
    layout!(SetPerpetualAccount, SetPerpetualAccount::KIND, 69, 48, account 0, mask 4, trade_group 8, trading_enabled 16, fee_burn 20, referral_total_bps 24, referral_share_bps 28, promo_bps 32, reserved 36, promo_until_ms 40);
    layout!(SetSource, SetSource::KIND, 70, 16, market 0, source 4, weight 8, stale_ms 12);
    layout!(FeedPrice, FeedPrice::KIND, 71, 16, market 0, source 4, price 8);
    layout!(SetManualPrice, SetManualPrice::KIND, 72, 16, market 0, moves_band 4, price 8);
    layout!(CreditPerpetual, CreditPerpetual::KIND, 73, 96, address 0, reserved 20, amount 24, reason 32);
    layout!(ProveLedger, ProveLedger::KIND, 74, 0,);
    layout!(ActivateRule, ActivateRule::KIND, 75, 8, rule 0, value 4);
    layout!(DraftPerpetual, DraftPerpetual::KIND, 76, 48, symbol 0, base 20, quote 30, market 40, reserved 44);
    layout!(ApplyDraft, ApplyDraft::KIND, 77, 8, changes 0, state 4, reserved 5);
    layout!(ScheduleVipTier, ScheduleVipTier::KIND, 78, 32, tier 0, count 4, volume 8, maker_rate 16, taker_rate 24);
    layout!(
        SetAccountLimits, SetAccountLimits::KIND, 79, 40, account 0, market 4, mask 8, open_orders 12, order_rate_10s 16,
        order_rate_1m 20, max_position_notional 24, max_order_notional 32
    );
    layout!(PlacePerpetual, PlacePerpetual::KIND, 80, 128, account 0, market 4, side 8, order_type 9, time_in_force 10, self_trade 11, working_type 12, price_match 13, flags 14, price 16, quantity 24, stop_price 32, callback_rate 40, leverage 44, good_till_ms 48, take_profit 56, stop_loss 64, client_order 72, attached_working_type 108, reserved 109, idempotency_key 112, idempotency_body 120);
    layout!(ModifyPerpetual, ModifyPerpetual::KIND, 81, 72, account 0, market 4, order 8, price 16, quantity 24, side 32, price_match 33, flags 34, client_order 36);
    layout!(CancelPerpetual, CancelPerpetual::KIND, 82, 56, account 0, market 4, order 8, client_order 16, classes 52);
    layout!(CancelAllPerpetual, CancelAllPerpetual::KIND, 83, 16, account 0, market 4, classes 8, reserved 12);
    layout!(SetCountdown, SetCountdown::KIND, 84, 24, account 0, market 4, countdown_ms 8, keep_reduce_only 16, reserved 20);
    layout!(SetLeverage, SetLeverage::KIND, 85, 16, account 0, market 4, leverage 8, reserved 12);
    layout!(SetMarginMode, SetMarginMode::KIND, 86, 16, account 0, market 4, mode 8, reserved 12);
    layout!(AdjustIsolatedMargin, AdjustIsolatedMargin::KIND, 87, 16, account 0, market 4, amount 8);
    layout!(TransferPerpetual, TransferPerpetual::KIND, 88, 16, account 0, reserved 4, amount 8);
    layout!(TransferOnce, TransferOnce::KIND, 89, 32, account 0, reserved 4, amount 8, idempotency_key 16, idempotency_body 24);
}

fn withdrawal_commands() {
    use command::*;
    layout!(MoveTreasury, MoveTreasury::KIND, 104, 40, from_account 0, to_account 4, amount 8, asset 24, from 34, to 35, reserved 36);
    layout!(SetDisconnect, SetDisconnect::KIND, 105, 24, account 0, market 4, session 8, grace_ms 16, act 20);
    layout!(RequestWithdrawal, RequestWithdrawal::KIND, 90, 136, account 0, ledger 4, reserved 5, amount 8, chain_id 24, vault 32, token 52, asset 72, reserved_2 82, lifetime_s 88, reserved_3 92, vault_name 96, idempotency_key 120, idempotency_body 128);
    layout!(RecordSignature, RecordSignature::KIND, 91, 112, withdrawal 0, digest 8, signature 40, reserved 105);
    layout!(ReturnWithdrawal, ReturnWithdrawal::KIND, 92, 16, withdrawal 0, holds_nonce 8);
    layout!(RecordRelease, RecordRelease::KIND, 93, 144, chain_id 0, vault 8, account 28, token 48, reserved 68, value 72, nonce 88, tx_hash 96, block 128, block_time_s 136);
    layout!(AdvanceChain, AdvanceChain::KIND, 94, 80, chain_id 0, vault 8, reserved 28, block 32, hash 40, time_s 72);
    layout!(PauseWithdrawals, PauseWithdrawals::KIND, 95, 72, mask 0, paused 4, reason 8);
    layout!(SettleWithdrawal, SettleWithdrawal::KIND, 97, 32, withdrawal 0, operator 8, is_paid 24);
    layout!(AdoptWithdrawal, AdoptWithdrawal::KIND, 96, 152, address 0, ledger 20, reserved 22, amount 24, chain_id 40, vault 48, token 68, asset 88, reserved_2 98, nonce 104, deadline_s 112, requested_at_s 120, vault_name 128, is_of_new_signer 21);
    deposit_commands();
}

fn withdrawal_events() {
    use event::*;
    layout!(Withdrawal, Withdrawal::KIND, 140, 80, withdrawal 0, account 8, asset 12, vault 14, amount 16, token 32, ledger 52, status 53, is_adopted 54, reserved 55, nonce 56, requested_at_s 64, deadline_s 72);
    layout!(WithdrawalSigned, WithdrawalSigned::KIND, 141, 80, withdrawal 0, signature 8, reserved 73);
    layout!(WithdrawalReleased, WithdrawalReleased::KIND, 142, 56, withdrawal 0, tx_hash 8, block 40, block_time_s 48);
    layout!(VaultOpened, VaultOpened::KIND, 143, 64, vault 0, reserved 2, chain_id 8, address 16, reserved_2 36, name 40);
    layout!(ChainAdvanced, ChainAdvanced::KIND, 144, 56, vault 0, reserved 2, block 8, hash 16, time_s 48);
    layout!(ReleaseAlarm, ReleaseAlarm::KIND, 145, 96, vault 0, reason 2, reserved 3, account 8, reserved_2 28, nonce 32, value 40, tx_hash 56, block 88);
    layout!(WithdrawalJudged, WithdrawalJudged::KIND, 147, 48, withdrawal 0, proposed_by 8, agreed_by 24, is_paid 40, is_settled 41, reserved 42);
    layout!(WithdrawalsPaused, WithdrawalsPaused::KIND, 146, 72, paused 0, reserved 4, reason 8);
    layout!(Deposit, Deposit::KIND, 148, 96, number 0, amount 8, value 24, token 40, address 60, account 80, asset 84, vault 86, status 88, reason 89, reserved 90);
    layout!(DepositBlock, DepositBlock::KIND, 149, 64, number 0, tx_hash 8, block 40, block_time_s 48, vault 56, reserved 58);
    layout!(Token, Token::KIND, 150, 48, chain_id 0, address 8, asset 28, decimals 30, paused 31, minimum 32);
    layout!(VaultSigner, VaultSigner::KIND, 151, 56, vault 0, reserved 2, former 8, signer 28, block 48);
    layout!(ReleaseUndone, ReleaseUndone::KIND, 153, 32, vault 0, reserved 2, account 4, nonce 24);
    layout!(VaultRewind, VaultRewind::KIND, 152, 88, vault 0, stage 2, reserved 3, block 8, hash 16, time_s 48, proposed_by 56, agreed_by 72);
}

fn deposit_commands() {
    use command::*;
    layout!(RecordDeposit, RecordDeposit::KIND, 98, 144, chain_id 0, vault 8, account 28, token 48, reserved 68, value 72, number 88, tx_hash 96, block 128, block_time_s 136);
    layout!(SetToken, SetToken::KIND, 99, 56, chain_id 0, token 8, asset 28, decimals 38, paused 39, minimum 40);
    layout!(ObserveVault, ObserveVault::KIND, 100, 80, chain_id 0, vault 8, signer 28, vault_name 48, block 72);
    layout!(CreditHeldDeposit, CreditHeldDeposit::KIND, 101, 40, chain_id 0, vault 8, reserved 28, number 32);
    layout!(RewindVault, RewindVault::KIND, 102, 96, chain_id 0, vault 8, reserved 28, block 32, hash 40, time_s 72, operator 80);
    layout!(UndoEvent, UndoEvent::KIND, 103, 136, withdrawal 0, account 8, vault 28, token 48, asset 68, ledger 78, is_deposit 79, amount 80, chain_id 96, number 104, requested_at_s 112, deadline_s 120, block 128);
}

fn perpetual_events() {
    use event::*;
    layout!(PerpetualOrder, PerpetualOrder::KIND, 80, 96, order 0, account 8, market 12, side 16, order_type 17, original_type 18, time_in_force 19, status 20, execution 21, expiry_reason 22, self_trade 23, working_type 24, price_match 25, flags 26, callback_rate 28, price 32, quantity 40, filled 48, open 56, value 64, stop_price 72, good_till_ms 80, parent 88);
    layout!(PerpetualPlaced, PerpetualPlaced::KIND, 81, 72, order 0, account 8, market 12, fired 16, client_order 24, reserved 60, reference 64);
    layout!(PerpetualTrade, PerpetualTrade::KIND, 82, 96, trade 0, maker_order 8, taker_order 16, price 24, quantity 32, maker_account 40, taker_account 44, market 48, taker_side 52, flags 53, cause 54, reserved 55, maker_fee 56, taker_fee 64, maker_realised 72, taker_realised 80, value 88);
    layout!(PreventedMatch, PreventedMatch::KIND, 83, 72, prevented 0, taker_order 8, maker_order 16, price 24, maker_quantity 32, taker_quantity 40, trade_group 48, taker_account 56, maker_account 60, market 64, mode 68, reserved 69);
    layout!(PerpetualAmended, PerpetualAmended::KIND, 84, 64, order 0, account 8, market 12, price_before 16, price_after 24, quantity_before 32, quantity_after 40, count 48, reserved 52, reference 56);
    layout!(TriggerDeferred, TriggerDeferred::KIND, 85, 32, order 0, account 8, market 12, mark 16, last 24);
    layout!(TriggerRefused, TriggerRefused::KIND, 86, 24, order 0, account 8, market 12, reject 16, reserved 18);
    layout!(PerpetualPosition, PerpetualPosition::KIND, 96, 56, account 0, market 4, quantity 8, cost 16, isolated_wallet 24, open_fees 32, realised 40, leverage 48, mode 52);
    layout!(PerpetualExposure, PerpetualExposure::KIND, 97, 72, account 0, market 4, buy_quantity 8, buy_reference 16, buy_open_loss 24, buy_fee_reserve 32, sell_quantity 40, sell_reference 48, sell_open_loss 56, sell_fee_reserve 64);
    layout!(PerpetualWallet, PerpetualWallet::KIND, 98, 16, account 0, reserved 4, wallet 8);
    layout!(PerpetualPools, PerpetualPools::KIND, 99, 32, fees 0, affiliates 8, deposits 16, deficit 24);
    layout!(Posting, Posting::KIND, 100, 32, account 0, market 4, amount 8, reason 16, wallet 17, reserved 18, trade 24);
    layout!(Liquidation, Liquidation::KIND, 102, 64, account 0, market 4, step 8, side 9, isolated 10, reserved 11, counterparty 12, order 16, quantity 24, value 32, fund_change 40, equity 48, maintenance 56);
    layout!(MarginCall, MarginCall::KIND, 103, 24, account 0, market 4, equity 8, maintenance 16);
    layout!(AccountTerms, AccountTerms::KIND, 104, 48, account 0, trading_enabled 4, trade_group 8, promo_until_ms 16, fee_burn 24, referral_total_bps 28, referral_share_bps 32, promo_bps 36, default_mode 40, reserved 44);
    layout!(VipChanged, VipChanged::KIND, 105, 32, account 0, change 4, from 5, to 6, reserved 7, volume 8, volume_30 16, effective_ms 24);
    layout!(PerpetualListed, PerpetualListed::KIND, 112, 32, market 0, base 4, quote 6, symbol 8, reserved 28);
    layout!(PerpetualSetting, PerpetualSetting::KIND, 113, 16, market 0, parameter 4, value 8);
    layout!(PerpetualBracket, PerpetualBracket::KIND, 114, 40, market 0, bracket 4, count 6, cap 8, rate 16, cumulated 24, leverage 32, reserved 36);
    layout!(PerpetualStateChanged, PerpetualStateChanged::KIND, 115, 16, market 0, state 4, set 5, reserved 6, settlement_price 8);
    layout!(PerpetualPrice, PerpetualPrice::KIND, 116, 64, market 0, index_state 4, clamped 5, reserved 6, index 8, mark 16, basis 24, impact_bid 32, impact_ask 40, funding_rate 48, next_funding_ms 56);
    layout!(PerpetualSource, PerpetualSource::KIND, 117, 24, market 0, source 4, weight 8, manual 12, price 16);
    layout!(FundingSettled, FundingSettled::KIND, 118, 48, market 0, sparse 4, rate 8, mark 16, funding_ms 24, residue 32, positions 40);
    layout!(RuleActivated, RuleActivated::KIND, 120, 8, rule 0, value 4);
    layout!(VipTierScheduled, VipTierScheduled::KIND, 123, 40, tier 0, count 4, volume 8, maker_rate 16, taker_rate 24, effective_ms 32);
    layout!(
        AccountLimits, AccountLimits::KIND, 124, 40, account 0, market 4, open_orders 8, order_rate_10s 12,
        order_rate_1m 16, reserved 20, max_position_notional 24, max_order_notional 32
    );
    layout!(PerpetualSourceAge, PerpetualSourceAge::KIND, 125, 16, market 0, source 4, stale_ms 8, reserved 12);
    layout!(PerpetualLedger, PerpetualLedger::KIND, 121, 88, wallets 0, isolated 16, costs 32, fund 48, fees 56, affiliates 64, deposits 72, asset 80, reserved 82);
    layout!(TreasuryMoved, TreasuryMoved::KIND, 127, 32, amount 0, from_account 16, to_account 20, asset 24, from 26, to 27, reserved 28);
    layout!(PoolDeficit, PoolDeficit::KIND, 122, 24, deficit 0, wallet 8, equity 16);
    layout!(VipTier, VipTier::KIND, 119, 32, tier 0, count 4, volume 8, maker_rate 16, taker_rate 24);
}

#[test]
fn enumerations_and_rejects() {
    use command::*;
    fn codes<T: Copy + std::fmt::Debug>(all: &[T], code: fn(T) -> u8) -> String {
        all.iter().map(|&value| format!("{value:?}={} ", code(value))).collect::<String>().trim_end().into()
    }
    assert_eq!(codes(Side::ALL, |v| v as u8), "Buy=0 Sell=1");
    assert_eq!(codes(OrderType::ALL, |v| v as u8), "Limit=0 Market=1");
    assert_eq!(
        codes(TimeInForce::ALL, |v| v as u8),
        "GoodTillCancel=0 ImmediateOrCancel=1 PostOnly=2 FillOrKill=3"
    );
    assert_eq!(
        codes(SelfTradePrevention::ALL, |v| v as u8),
        "None=0 RejectTaker=1 ExpireTaker=2 ExpireMaker=3 ExpireBoth=4"
    );
    assert_eq!(codes(MarketKind::ALL, |v| v as u8), "Spot=0");
    assert_eq!(codes(MarketStatus::ALL, |v| v as u8), "Listed=0 Halted=1 Delisted=2");
    assert_eq!(
        codes(OrderStatus::ALL, |v| v as u8),
        "Open=0 PartiallyFilled=1 Filled=2 Canceled=3 Rejected=4 Expired=5"
    );
    assert_eq!(
        codes(PerpetualOrderType::ALL, |v| v as u8),
        "Limit=0 Market=1 Stop=2 TakeProfit=3 StopMarket=4 \
        TakeProfitMarket=5 TrailingStopMarket=6 Liquidation=7"
    );
    assert_eq!(
        codes(PerpetualTimeInForce::ALL, |v| v as u8),
        "GoodTillCancel=0 ImmediateOrCancel=1 PostOnly=2 \
        FillOrKill=3 GoodTillDate=4"
    );
    assert_eq!(codes(WorkingType::ALL, |v| v as u8), "ContractPrice=0 MarkPrice=1");
    assert_eq!(
        codes(PriceMatch::ALL, |v| v as u8),
        "None=0 Opponent=1 Opponent5=2 Opponent10=3 Opponent20=4 \
        Queue=5 Queue5=6 Queue10=7 Queue20=8"
    );
    assert_eq!(
        codes(PerpetualStatus::ALL, |v| v as u8),
        "New=0 PartiallyFilled=1 Filled=2 Canceled=3 Expired=4 \
        ExpiredInMatch=5"
    );
    assert_eq!(codes(MarginMode::ALL, |v| v as u8), "Cross=0 Isolated=1");
    assert_eq!(
        codes(PerpetualState::ALL, |v| v as u8),
        "Trading=0 PostOnly=1 ReduceOnly=2 CancelOnly=3 Halted=4 \
        Closed=5"
    );
    let parameters: Vec<u8> = PerpetualParameter::ALL.iter().map(|&parameter| parameter as u8).collect();
    assert_eq!(parameters, (1..=28).chain([40, 41, 42]).collect::<Vec<u8>>());
    {
        use event::*;
        assert_eq!(codes(Execution::ALL, |v| v as u8), "New=0 Amended=1 Canceled=2 Expired=3 Triggered=4");
        assert_eq!(
            codes(TradeCause::ALL, |v| v as u8),
            "Book=0 Liquidation=1 Takeover=2 Deleveraging=3 Settlement=4"
        );
        assert_eq!(
            codes(PostingReason::ALL, |v| v as u8),
            "Transfer=0 FundingFee=1 FundingResidue=2 \
            InsuranceClear=3 Affiliate=4 Settlement=5 Adjustment=6 IsolatedMargin=7 RealisedProfit=8 Treasury=9 TreasuryFees=10"
        );
        assert_eq!(
            codes(LiquidationStep::ALL, |v| v as u8),
            "Begin=0 Book=1 Fund=2 Adl=3 Clear=4 End=5 Unwind=6"
        );
        assert_eq!(codes(IndexState::ALL, |v| v as u8), "Live=0 Single=1 Spot=2 Manual=3 Held=4 Stale=5");
        assert_eq!(
            codes(VipChange::ALL, |v| v as u8),
            "UpgradeImmediate=0 DowngradeScheduled=1 DowngradeApplied=2"
        );
    }
    assert_eq!(codes(Ledger::ALL, |v| v as u8), "Spot=0 Perpetual=1");
    assert_eq!(
        codes(WithdrawalStatus::ALL, |v| v as u8),
        "Requested=0 Signed=1 Confirmed=2 Expired=3 Returned=4 Void=5"
    );
    assert_eq!(
        codes(event::AlarmReason::ALL, |v| v as u8),
        "Unknown=0 Mismatch=1 Returned=2 Short=3 Conflict=4"
    );
    assert_eq!(codes(DepositStatus::ALL, |v| v as u8), "Credited=0 Held=1 Undone=2");
    assert_eq!(
        codes(HeldReason::ALL, |v| v as u8),
        "None=0 TokenUnknown=1 TokenPaused=2 OutOfRange=3 Nobody=4"
    );
    assert_eq!(codes(event::RewindStage::ALL, |v| v as u8), "Proposed=0 Agreed=1 Done=2");
    let rejects: Vec<u16> = Reject::ALL.iter().map(|reject| reject.code()).collect();
    assert_eq!(
        rejects,
        [
            1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21, 22, 23, 30, 31, 32, 33, 34, 35, 36, 37, 40, 41, 42, 50,
            51, 52, 53, 54, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79,
            80, 81, 82, 83, 84, 85, 86, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101, 102, 110, 111, 112,
            113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127
        ]
    );
}

fn hex(bytes: &[u8]) -> String {
    let (mut text, mut zeros) = (String::new(), 0);
    // Runs of zeros are written as their count in brackets, so that the rest can be read.
    for &byte in bytes.iter().chain([&1]) {
        if byte == 0 {
            zeros += 1;
            continue;
        }
        match std::mem::take(&mut zeros) {
            0 => {}
            count @ 1..=3 => text.push_str(&"00".repeat(count)),
            count => text.push_str(&format!("[{count}]")),
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text.truncate(text.len() - 2);
    text
}

fn command_bytes<B: Body>(body: B) -> String {
    let mut command = Command::new(body);
    command.sequence = 0x0102_0304_0506_0708;
    command.time_ns = 0x1112_1314_1516_1718;
    command.source_seq = 0x2122_2324_2526_2728;
    command.source = 0x3132_3334;
    hex(command.as_bytes())
}

fn event_bytes<P: event::Payload>(payload: P) -> String {
    hex(event::Event::new(0x0102_0304_0506_0708, 0x1112_1314_1516_1718, 0x2122_2324, payload).as_bytes())
}

const AMOUNT: RawAmount = RawAmount::new(0x4142_4344_4546_4748_494a_4b4c_4d4e_4f50);

/// One command of each kind, every field of it with bytes of its own.
#[test]
fn golden_commands() {
    use command::*;
    let (symbol, base, quote) = (padded("DFUSDT").unwrap(), padded("DF").unwrap(), padded("USDT").unwrap());
    let lines = [
        command_bytes(PlaceOrder {
            account: 0xa1a2_a3a4,
            market: 0xb1b2_b3b4,
            side: 1,
            order_type: 2,
            time_in_force: 3,
            self_trade: 4,
            flags: 0xc1c2_c3c4,
            price: 0x0d0e_0f10,
            quantity: -2,
            quote_quantity: AMOUNT,
            idempotency_key: 5,
            idempotency_body: 6,
        }),
        command_bytes(CancelOrder { account: 0xa1a2_a3a4, reserved: 0, order: 0xb1b2_b3b4_b5b6_b7b8 }),
        command_bytes(CancelAll { account: 0xa1a2_a3a4, market: u32::MAX }),
        command_bytes(AmendOrder { account: 1, reserved: 0, order: 2, quantity: 3 }),
        command_bytes(ReplaceOrder { account: 1, reserved: 0, order: 2, price: 3, quantity: 4 }),
        command_bytes(CreateAccount { address: [0xee; 20], reserved: 0 }),
        command_bytes(Credit {
            address: [0xee; 20],
            asset: quote,
            reserved: 0,
            amount: AMOUNT,
            reason: padded("why").unwrap(),
        }),
        command_bytes(ListMarket {
            symbol,
            base,
            quote,
            tick: 1,
            lot: 2,
            min_notional: AMOUNT,
            maker_fee: 3,
            taker_fee: 4,
            max_open_orders: 5,
            kind: 6,
            reserved: [0; 3],
        }),
        command_bytes(UpdateMarket {
            market: 1,
            mask: 31,
            tick: 2,
            lot: 3,
            min_notional: AMOUNT,
            maker_fee: 4,
            taker_fee: 5,
        }),
        command_bytes(SetMarketStatus { market: 1, status: 2, reserved: [0; 3] }),
        command_bytes(AdvanceTime {}),
        command_bytes(OpenEpoch { epoch: 1, reserved: 0 }),
        command_bytes(Checkpoint {}),
        command_bytes(VerifyHash { checkpoint: 1, hash: [0xdd; 16] }),
        command_bytes(SkipCommand {
            skipped: 1,
            operators: [[0xaa; 24], [0xbb; 24]],
            reason: padded("why").unwrap(),
        }),
    ];
    assert_eq!(lines.join("\n"), GOLDEN_COMMANDS.trim());
}

/// One event of each kind, likewise.
#[test]
fn golden_events() {
    use event::*;
    let lines = [
        event_bytes(Trade {
            trade: 1,
            maker_order: 2,
            taker_order: 3,
            price: 4,
            quantity: 5,
            maker_fee: AMOUNT,
            taker_fee: 6.into(),
            maker_account: 7,
            taker_account: 8,
            market: 9,
            taker_side: 10,
            maker_filled: 11,
            reserved: 0,
        }),
        event_bytes(Order {
            order: 1,
            account: 2,
            market: 3,
            side: 4,
            order_type: 5,
            time_in_force: 6,
            status: 7,
            is_new: 8,
            is_amended: 9,
            reject: 10,
            price: 11,
            quantity: 12,
            quote_quantity: AMOUNT,
            filled: 13,
            open: 14,
        }),
        event_bytes(Depth { update: 1, price: 2, total: AMOUNT, market: 3, side: 4, reserved: [0; 3] }),
        event_bytes(Balances {
            account: 1,
            base: 2,
            quote: 3,
            changed: 4,
            base_available: AMOUNT,
            base_frozen: 5.into(),
            quote_available: 6.into(),
            quote_frozen: (-1).into(),
        }),
        event_bytes(AccountCreated { address: [0xee; 20], account: 1 }),
        event_bytes(AssetCreated { name: padded("DF").unwrap(), asset: 1, reserved: 0 }),
        event_bytes(Credited {
            account: 1,
            asset: 2,
            reserved: 0,
            amount: AMOUNT,
            reason: padded("why").unwrap(),
        }),
        event_bytes(Market {
            market: 1,
            base: 2,
            quote: 3,
            tick: 4,
            lot: 5,
            min_notional: AMOUNT,
            maker_fee: 6,
            taker_fee: 7,
            max_open_orders: 8,
            symbol: padded("DFUSDT").unwrap(),
            kind: 9,
            status: 10,
            reserved: [0; 6],
        }),
        event_bytes(StateHash { hash: [0xdd; 16] }),
        event_bytes(Done {
            source_seq: 1,
            source: 2,
            command: 3,
            reject: 4,
            order: 5,
            account: 6,
            market: 7,
            idempotency_key: 8,
            replayed: 9,
            update: 10,
        }),
    ];
    assert_eq!(lines.join("\n"), GOLDEN_EVENTS.trim());
}

const GOLDEN_COMMANDS: &str = "
0807060504030201181716151413121128272625242322213433323101000000a4a3a2a1b4b3b2b101020304c4c3c2c1100f0e0d[4]feffffffffffffff504f4e4d4c4b4a49484746454443424105[7]06[95]
0807060504030201181716151413121128272625242322213433323102000000a4a3a2a1[4]b8b7b6b5b4b3b2b1[136]
0807060504030201181716151413121128272625242322213433323103000000a4a3a2a1ffffffff[144]
080706050403020118171615141312112827262524232221343332310400000001[7]02[7]03[135]
080706050403020118171615141312112827262524232221343332310500000001[7]02[7]03[7]04[127]
0807060504030201181716151413121128272625242322213433323110000000eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee[132]
0807060504030201181716151413121128272625242322213433323111000000eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee55534454[8]504f4e4d4c4b4a494847464544434241776879[101]
0807060504030201181716151413121128272625242322213433323120000000444655534454[14]4446[8]55534454[6]01[7]02[7]504f4e4d4c4b4a49484746454443424103000000040000000500000006[67]
0807060504030201181716151413121128272625242322213433323121000000010000001f00000002[7]03[7]504f4e4d4c4b4a4948474645444342410400000005[107]
08070605040302011817161514131211282726252423222134333231220000000100000002[147]
0807060504030201181716151413121128272625242322213433323130[155]
080706050403020118171615141312112827262524232221343332313100000001[151]
0807060504030201181716151413121128272625242322213433323132[155]
080706050403020118171615141312112827262524232221343332313300000001[7]dddddddddddddddddddddddddddddddd[128]
080706050403020118171615141312112827262524232221343332313400000001[7]aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb776879[93]
";

const GOLDEN_EVENTS: &str = "
08070605040302011817161514131211242322210100000001[7]02[7]03[7]04[7]05[7]504f4e4d4c4b4a49484746454443424106[15]0700000008000000090000000a0b[10]
08070605040302011817161514131211242322210200000001[7]02000000030000000405060708090a000b[7]0c[7]504f4e4d4c4b4a4948474645444342410d[7]0e[31]
08070605040302011817161514131211242322210300000001[7]02[7]504f4e4d4c4b4a4948474645444342410300000004[59]
080706050403020118171615141312112423222104000000010000000200030004[7]504f4e4d4c4b4a49484746454443424105[15]06[15]ffffffffffffffffffffffffffffffff[16]
080706050403020118171615141312112423222110000000eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee01[75]
0807060504030201181716151413121124232221110000004446[8]01[85]
0807060504030201181716151413121124232221120000000100000002000000504f4e4d4c4b4a494847464544434241776879[69]
080706050403020118171615141312112423222120000000010000000200030004[7]05[7]504f4e4d4c4b4a494847464544434241060000000700000008000000444655534454[14]090a[22]
080706050403020118171615141312112423222130000000dddddddddddddddddddddddddddddddd[80]
08070605040302011817161514131211242322214000000001[7]020000000300040005[7]060000000700000008[7]09[7]0a[47]
";
