//! Behaviour as text: commands in, every event out. One file of `scripts/` per behaviour or past bug.
//!
//! A line is a command; the lines after it that start with `>` are all of its events, in order, the last one its
//! verdict. A command without such lines must be accepted, whatever it does. Lines that start with `=` look at the state.
//! After each command the invariants are checked, and at the end of a script a snapshot must come back equal.
//!
//! ```text
//! market DFUSDT DF/USDT tick 0.0001 lot 0.1 min 1 maker 5 taker 10 max 200      (fees in bps)
//! credit alice 100 DF | account alice
//! alice buy 80 @ 0.21 [post_only|ioc|fok] [stp MODE] [in SYMBOL] [key K body B] [flags N] [side N] [type N] [tif N]
//! alice buy for 25 | alice sell 10                                              (market orders)
//! alice cancel #1 | alice cancel-all [SYMBOL] | alice amend #1 5 | alice replace #1 5 @ 0.2
//! update SYMBOL [tick T] [lot L] [min N] [maker F] [taker F] [mask N] | status SYMBOL halted|listed|delisted|N
//! time SECONDS | epoch N | kind N | from SOURCE NUMBER command...
//! = book SYMBOL bids 30 @ 0.21 asks 5 @ 0.3, 1 @ 0.4
//! = queue SYMBOL bids #1 30, #2 5 asks
//! = alice DF 49.95 0.05
//! ```

use ringside_core::command::*;
use ringside_core::event::{self, Event};
use ringside_core::ids::{ALL_MARKETS, padded, text};
use ringside_core::money::{Amount, RawAmount};
use ringside_core::reject::Reject;
use ringside_core::{Engine, EngineConfig};
use std::fmt::Write as _;
use std::path::Path;

const NOBODY: u32 = 4_000_000;

struct Script {
    engine: Engine,
    /// By account id.
    names: Vec<String>,
    /// By asset id.
    assets: Vec<String>,
    /// Symbols by market id; orders go to the last one unless they say otherwise.
    symbols: Vec<String>,
    time_s: i64,
}

/// A decimal with at most `places` digits behind the point, in steps of 10^-places.
fn scaled(text: &str, places: usize) -> i128 {
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    assert!(fraction.len() <= places, "{text} has more than {places} places");
    let digits = format!("{whole}{fraction:0<places$}");
    sign * digits.parse::<i128>().unwrap_or_else(|_| panic!("{text} is no number"))
}

fn shown(value: i128, places: usize) -> String {
    let (sign, value) = if value < 0 { ("-", -value) } else { ("", value) };
    let digits = format!("{value:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

fn shown8(value: i64) -> String {
    shown(value.into(), 8)
}

fn shown18(value: RawAmount) -> String {
    shown(value.get(), 18)
}

fn price(text: &str) -> i64 {
    i64::try_from(scaled(text, 8)).unwrap()
}

fn amount(text: &str) -> RawAmount {
    RawAmount::new(scaled(text, 18))
}

fn bps(text: &str) -> u32 {
    u32::try_from(scaled(text, 4)).unwrap()
}

fn order_id(text: &str) -> u64 {
    text.strip_prefix('#').unwrap_or_else(|| panic!("{text} is no order")).parse().unwrap()
}

fn address(name: &str) -> [u8; 20] {
    if name == "fees" { [0; 20] } else { padded(name).unwrap() }
}

/// The words of a line, taken one by one.
struct Words<'a>(std::iter::Peekable<std::str::SplitWhitespace<'a>>);

impl<'a> Words<'a> {
    fn word(&mut self) -> &'a str {
        self.0.next().expect("the line ends early")
    }

    fn next_is(&mut self, word: &str) -> bool {
        self.0.next_if(|next| *next == word).is_some()
    }

    fn number<T: std::str::FromStr>(&mut self) -> T {
        let word = self.word();
        word.parse().unwrap_or_else(|_| panic!("{word} is no number here"))
    }
}

impl Script {
    fn new() -> Script {
        Script {
            engine: Engine::new(&EngineConfig::SMALLEST),
            names: vec!["fees".into()],
            assets: Vec::new(),
            symbols: Vec::new(),
            time_s: 1_700_000_000,
        }
    }

    fn account(&self, name: &str) -> u32 {
        self.names.iter().position(|known| known == name).map_or(NOBODY, |place| place as u32)
    }

    fn market(&self, symbol: &str) -> u32 {
        self.symbols.iter().position(|known| known == symbol).map_or(99, |place| place as u32)
    }

    fn command(&self, line: &str) -> Command {
        let mut words = Words(line.split_whitespace().peekable());
        let command = match words.word() {
            "from" => {
                let (source, source_seq) = (words.number(), words.number());
                let rest: Vec<&str> = words.0.collect();
                return Command { source, source_seq, ..self.command(&rest.join(" ")) };
            }
            "market" => self.list(&mut words),
            "credit" => Command::new(Credit {
                address: address(words.word()),
                amount: amount(words.word()),
                asset: padded(words.word()).unwrap(),
                reserved: 0,
                reason: padded("audit").unwrap(),
            }),
            "account" => Command::new(CreateAccount { address: address(words.word()), reserved: 0 }),
            "update" => self.update(&mut words),
            "status" => Command::new(SetMarketStatus {
                market: self.market(words.word()),
                status: match words.word() {
                    "listed" => 0,
                    "halted" => 1,
                    "delisted" => 2,
                    code => code.parse().unwrap(),
                },
                reserved: [0; 3],
            }),
            "time" => Command::new(AdvanceTime {}),
            "epoch" => Command::new(OpenEpoch { epoch: words.number(), reserved: 0 }),
            "kind" => Command { kind: words.number(), ..Command::new(AdvanceTime {}) },
            name => self.trading(name, &mut words),
        };
        if line.starts_with("time") {
            return command;
        }
        assert_eq!(words.0.next(), None, "words are left over in: {line}");
        command
    }

    fn list(&self, words: &mut Words<'_>) -> Command {
        let symbol = words.word();
        let (base, quote) = words.word().split_once('/').unwrap();
        let mut list = ListMarket {
            symbol: padded(symbol).unwrap(),
            base: padded(base).unwrap(),
            quote: padded(quote).unwrap(),
            tick: price("0.0001"),
            lot: price("0.1"),
            min_notional: amount("1"),
            maker_fee: 0,
            taker_fee: 0,
            max_open_orders: 200,
            kind: 0,
            reserved: [0; 3],
        };
        while let Some(word) = words.0.next() {
            match word {
                "tick" => list.tick = price(words.word()),
                "lot" => list.lot = price(words.word()),
                "min" => list.min_notional = amount(words.word()),
                "maker" => list.maker_fee = bps(words.word()),
                "taker" => list.taker_fee = bps(words.word()),
                "max" => list.max_open_orders = words.number(),
                "kind" => list.kind = words.number(),
                _ => panic!("{word} is no setting of a market"),
            }
        }
        Command::new(list)
    }

    fn update(&self, words: &mut Words<'_>) -> Command {
        let mut update = UpdateMarket {
            market: self.market(words.word()),
            mask: 0,
            tick: 0,
            lot: 0,
            min_notional: RawAmount::ZERO,
            maker_fee: 0,
            taker_fee: 0,
        };
        while let Some(word) = words.0.next() {
            update.mask |= match word {
                "tick" => {
                    update.tick = price(words.word());
                    update_mask::TICK
                }
                "lot" => {
                    update.lot = price(words.word());
                    update_mask::LOT
                }
                "min" => {
                    update.min_notional = amount(words.word());
                    update_mask::MIN_NOTIONAL
                }
                "maker" => {
                    update.maker_fee = bps(words.word());
                    update_mask::MAKER_FEE
                }
                "taker" => {
                    update.taker_fee = bps(words.word());
                    update_mask::TAKER_FEE
                }
                "mask" => words.number(),
                _ => panic!("{word} is no setting of a market"),
            }
        }
        Command::new(update)
    }

    fn trading(&self, name: &str, words: &mut Words<'_>) -> Command {
        let account = self.account(name);
        match words.word() {
            "cancel" => Command::new(CancelOrder { account, reserved: 0, order: order_id(words.word()) }),
            "cancel-all" => Command::new(CancelAll {
                account,
                market: words.0.next().map_or(ALL_MARKETS, |symbol| self.market(symbol)),
            }),
            act @ ("arm" | "disarm" | "lost") => Command::new(SetDisconnect {
                account,
                act: match act {
                    "arm" => ConnectionAct::Arm as u32,
                    "disarm" => ConnectionAct::Disarm as u32,
                    _ => ConnectionAct::Lost as u32,
                },
                session: words.number(),
                grace_ms: words.number(),
                market: words.0.next().map_or(ALL_MARKETS, |symbol| self.market(symbol)),
            }),
            "amend" => Command::new(AmendOrder {
                account,
                reserved: 0,
                order: order_id(words.word()),
                quantity: price(words.word()),
            }),
            "replace" => {
                let (order, quantity) = (order_id(words.word()), price(words.word()));
                assert!(words.next_is("@"));
                Command::new(ReplaceOrder {
                    account,
                    reserved: 0,
                    order,
                    price: price(words.word()),
                    quantity,
                })
            }
            side => self.place(account, side, words),
        }
    }

    fn place(&self, account: u32, side: &str, words: &mut Words<'_>) -> Command {
        let side = if side == "buy" { Side::Buy } else { Side::Sell };
        let market = self.symbols.len().saturating_sub(1) as u32;
        let mut place = if words.next_is("for") {
            PlaceOrder::market_buy(account, market, scaled(words.word(), 18))
        } else {
            let quantity = price(words.word());
            if words.next_is("@") {
                PlaceOrder::limit(account, market, side, price(words.word()), quantity)
            } else {
                PlaceOrder { side: side as u8, ..PlaceOrder::market_sell(account, market, quantity) }
            }
        };
        while let Some(word) = words.0.next() {
            match word {
                "gtc" => place.time_in_force = TimeInForce::GoodTillCancel as u8,
                "ioc" => place.time_in_force = TimeInForce::ImmediateOrCancel as u8,
                "post_only" => place.time_in_force = TimeInForce::PostOnly as u8,
                "fok" => place.time_in_force = TimeInForce::FillOrKill as u8,
                "stp" => {
                    place.self_trade = match words.word() {
                        "none" => 0,
                        "reject" => 1,
                        "taker" => 2,
                        "maker" => 3,
                        "both" => 4,
                        code => code.parse().unwrap(),
                    }
                }
                "in" => place.market = self.market(words.word()),
                "key" => place.idempotency_key = words.number(),
                "body" => place.idempotency_body = words.number(),
                "flags" => place.flags = words.number(),
                "side" => place.side = words.number(),
                "type" => place.order_type = words.number(),
                "tif" => place.time_in_force = words.number(),
                _ => panic!("{word} is no setting of an order"),
            }
        }
        Command::new(place)
    }

    /// Applies a line's command; its events as text.
    fn run(&mut self, line: &str) -> Vec<String> {
        if let Some(seconds) = line.strip_prefix("time ") {
            self.time_s += seconds.trim().parse::<i64>().unwrap();
        }
        let mut command = self.command(line);
        command.sequence = self.engine.sequence() + 1;
        command.time_ns = self.time_s * 1_000_000_000;
        let mut events: Vec<Event> = Vec::new();
        self.engine.apply(&command, &mut events);
        self.engine.check_invariants().unwrap();
        for (index, event) in events.iter().enumerate() {
            assert_eq!((event.index, event.sequence), (index as u32, command.sequence));
            if let Some(created) = event.get::<event::AccountCreated>() {
                assert_eq!(created.account as usize, self.names.len());
                self.names.push(text(&created.address).to_string());
            }
            if let Some(created) = event.get::<event::AssetCreated>() {
                assert_eq!(created.asset as usize, self.assets.len());
                self.assets.push(text(&created.name).to_string());
            }
            if let Some(market) = event.get::<event::Market>()
                && market.market as usize == self.symbols.len()
            {
                self.symbols.push(text(&market.symbol).to_string());
            }
        }
        events.iter().map(|event| self.show(event)).collect()
    }

    fn name(&self, account: u32) -> &str {
        self.names.get(account as usize).map_or("nobody", |name| name)
    }

    fn show(&self, event: &Event) -> String {
        if let Some(trade) = event.get::<event::Trade>() {
            let market = self.engine.market_event(trade.market).unwrap();
            let [base, quote] = [market.base, market.quote].map(|asset| &self.assets[asset as usize]);
            let (does, taker_gets, maker_gets) =
                if trade.taker_side == 0 { ("buys", base, quote) } else { ("sells", quote, base) };
            return format!(
                "trade {}: {} #{} {does} {} @ {} of {} #{}{}, fees {} {taker_gets}, {} {maker_gets}",
                trade.trade,
                self.name(trade.taker_account),
                trade.taker_order,
                shown8(trade.quantity),
                shown8(trade.price),
                self.name(trade.maker_account),
                trade.maker_order,
                if trade.maker_filled == 1 { " (filled)" } else { "" },
                shown18(trade.taker_fee),
                shown18(trade.maker_fee),
            );
        }
        if let Some(order) = event.get::<event::Order>() {
            return self.show_order(order);
        }
        if let Some(depth) = event.get::<event::Depth>() {
            return format!(
                "depth {} {} {} @ {} update {}",
                self.symbols[depth.market as usize],
                if depth.side == 0 { "bid" } else { "ask" },
                shown(depth.total.get(), 8),
                shown8(depth.price),
                depth.update,
            );
        }
        if let Some(balances) = event.get::<event::Balances>() {
            let mut line = self.name(balances.account).to_string();
            for (bit, asset, available, frozen) in [
                (1, balances.base, balances.base_available, balances.base_frozen),
                (2, balances.quote, balances.quote_available, balances.quote_frozen),
            ] {
                if balances.changed & bit != 0 {
                    let (available, frozen) = (shown18(available), shown18(frozen));
                    write!(line, " {} {available} {frozen}", self.assets[asset as usize]).unwrap();
                }
            }
            return line;
        }
        if let Some(created) = event.get::<event::AccountCreated>() {
            return format!("account {}", text(&created.address));
        }
        if let Some(created) = event.get::<event::AssetCreated>() {
            return format!("asset {}", text(&created.name));
        }
        if let Some(credited) = event.get::<event::Credited>() {
            return format!(
                "credited {} {} {} for {}",
                self.name(credited.account),
                shown18(credited.amount),
                self.assets[credited.asset as usize],
                text(&credited.reason),
            );
        }
        if let Some(market) = event.get::<event::Market>() {
            return format!(
                "market {} {}/{} tick {} lot {} min {} maker {} taker {} max {} {}",
                text(&market.symbol),
                self.assets[market.base as usize],
                self.assets[market.quote as usize],
                shown8(market.tick),
                shown8(market.lot),
                shown18(market.min_notional),
                shown(market.maker_fee.into(), 4),
                shown(market.taker_fee.into(), 4),
                market.max_open_orders,
                ["listed", "halted", "delisted"][market.status as usize],
            );
        }
        let done = event.get::<event::Done>().unwrap();
        let mut line = match Reject::from_code(done.reject) {
            None => "ok".to_string(),
            Some(reject) => format!("{reject:?}"),
        };
        if done.order != 0 {
            write!(line, " #{}", done.order).unwrap();
        }
        if done.update != 0 {
            write!(line, " update {}", done.update).unwrap();
        }
        if done.replayed != 0 {
            write!(line, " of {}", done.replayed).unwrap();
        }
        line
    }

    fn show_order(&self, order: &event::Order) -> String {
        let status = ["open", "partially_filled", "filled", "canceled", "rejected", "expired"];
        let mut line = format!(
            "order #{} {} {} {} {}",
            order.order,
            self.name(order.account),
            ["buy", "sell"][order.side as usize],
            ["limit", "market"][order.order_type as usize],
            ["gtc", "ioc", "post_only", "fok"][order.time_in_force as usize],
        );
        if order.quote_quantity != RawAmount::ZERO {
            write!(line, " for {}", shown18(order.quote_quantity)).unwrap();
        } else {
            write!(line, " {}", shown8(order.quantity)).unwrap();
        }
        if order.price != 0 {
            write!(line, " @ {}", shown8(order.price)).unwrap();
        }
        write!(line, ": {}", status[order.status as usize]).unwrap();
        if order.filled != 0 {
            write!(line, " {}", shown8(order.filled)).unwrap();
        }
        if order.open != 0 {
            write!(line, " open {}", shown8(order.open)).unwrap();
        }
        for (flag, word) in [(order.is_new, " new"), (order.is_amended, " amended")] {
            if flag != 0 {
                line.push_str(word);
            }
        }
        if let Some(reject) = Reject::from_code(order.reject) {
            write!(line, " {reject:?}").unwrap();
        }
        line
    }

    /// The line with the true values in place of what it claims.
    fn look(&self, line: &str) -> String {
        let mut words = Words(line.split_whitespace().peekable());
        match words.word() {
            what @ ("book" | "queue") => {
                let symbol = words.word();
                let mut truth = format!("{what} {symbol}");
                for (side, word) in [(Side::Buy, "bids"), (Side::Sell, "asks")] {
                    let market = self.market(symbol);
                    let rows: Vec<String> = if what == "book" {
                        let levels = self.engine.depth(market, side, usize::MAX);
                        levels
                            .iter()
                            .map(|(at, total)| format!("{} @ {}", shown(*total, 8), shown8(*at)))
                            .collect()
                    } else {
                        let orders = self.engine.resting(market, side);
                        orders.map(|order| format!("#{} {}", order.order, shown8(order.open))).collect()
                    };
                    write!(truth, " {word} {}", rows.join(", ")).unwrap();
                }
                truth.split_whitespace().collect::<Vec<_>>().join(" ")
            }
            name => {
                let asset = words.word();
                let number = self.assets.iter().position(|known| known == asset).unwrap() as u16;
                let (available, frozen): (Amount, Amount) =
                    self.engine.balance(self.account(name), number).unwrap();
                format!("{name} {asset} {} {}", shown(available, 18), shown(frozen, 18))
            }
        }
    }
}

fn check(path: &Path) {
    let source = std::fs::read_to_string(path).unwrap();
    let lines: Vec<(usize, &str)> = source
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split(" # ").next().unwrap_or("").trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let mut script = Script::new();
    let mut next = 0;
    while let Some(&(number, line)) = lines.get(next) {
        next += 1;
        let place = format!("{}:{number}: {line}", path.display());
        if let Some(claim) = line.strip_prefix('=') {
            let claim = claim.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(claim, script.look(&claim), "\n{place}");
            continue;
        }
        let events = script.run(line);
        let mut expected = Vec::new();
        while let Some(line) = lines.get(next).and_then(|(_, line)| line.strip_prefix('>')) {
            expected.push(line.split_whitespace().collect::<Vec<_>>().join(" "));
            next += 1;
        }
        if expected.is_empty() {
            assert!(events.last().unwrap().starts_with("ok"), "\n{place}\n{}", events.join("\n"));
        } else {
            assert!(
                events == expected,
                "\n{place}\nexpected\n> {}\nbut it was\n> {}\n",
                expected.join("\n> "),
                events.join("\n> ")
            );
        }
    }
    let mut bytes = Vec::new();
    script.engine.save(&mut bytes);
    let loaded = Engine::load(&EngineConfig::SMALLEST, &bytes).unwrap();
    assert_eq!(loaded.state_hash(), script.engine.state_hash());
}

#[test]
fn scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let only = std::env::var("SCRIPT").unwrap_or_default();
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut failed = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !name.contains(&only) {
            continue;
        }
        println!("SCRIPT={name} cargo test -p ringside-core --test scripts");
        if std::panic::catch_unwind(|| check(&path)).is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "failed: {failed:?}");
}
