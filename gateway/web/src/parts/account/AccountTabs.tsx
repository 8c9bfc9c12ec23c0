// What the account has and did, below the chart.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { cancelAll } from '../../live/trade';
import { livePositions, openOrders } from '../../store/account';
import { market } from '../../store/market';
import { onlyThisMarket } from '../../store/preferences';
import { isLoggedIn, isLoginOpen } from '../../store/session';
import { askCancelAll } from '../CancelAll';
import { Check, Tabs } from '../ui';
import { Assets } from './Assets';
import { FillHistory, FundingHistory, OrderHistory, TransferHistory } from './Histories';
import { OpenOrders } from './OpenOrders';
import { Positions } from './Positions';

type Tab = 'positions' | 'orders' | 'order-history' | 'fills' | 'funding' | 'transfers' | 'assets';

export const accountTab = signal<Tab>('positions');

// Whether a row is of what is shown.
export const isShown = (venue: string, symbol: string): boolean =>
  !onlyThisMarket.value || (market.value?.venue === venue && market.value.symbol === symbol);

export function AccountTabs() {
  const orders = openOrders.value.filter(({ venue, symbol }) => isShown(venue, symbol));
  const count = (length: number): string => (length ? ` (${length})` : '');
  const tabs: Array<[Tab, ComponentChildren]> = [
    ['positions', `Positions${count(livePositions.value.length)}`], ['orders', `Open orders${count(orders.length)}`],
    ['order-history', 'Order history'], ['fills', 'Trade history'], ['funding', 'Funding'], ['transfers', 'Transfers'], ['assets', 'Assets'],
  ];
  const tab = accountTab.value;
  return (
    <section class="panel account" aria-label="Account tables">
      <Tabs label="Account" tabs={tabs} value={tab} onChoose={(value) => { accountTab.value = value; }}>
        <div class="row wide">
          {tab !== 'transfers' && tab !== 'assets' && <Check label="This market" name="only-this" isOn={onlyThisMarket.value} onChange={(isOn) => { onlyThisMarket.value = isOn; }} />}
          {tab === 'orders' && <button id="cancel-all" type="button" class="outline small" disabled={!openOrders.value.length} onClick={() => askCancelAll(market.value, cancelAll)}>Cancel all</button>}
        </div>
      </Tabs>
      <div class="tab-body" role="tabpanel" aria-label={tab}>
        {!isLoggedIn.value ? <LoggedOut /> : (
          <>
            {tab === 'positions' && <Positions />}
            {tab === 'orders' && <OpenOrders rows={orders} />}
            {tab === 'order-history' && <OrderHistory />}
            {tab === 'fills' && <FillHistory />}
            {tab === 'funding' && <FundingHistory />}
            {tab === 'transfers' && <TransferHistory />}
            {tab === 'assets' && <Assets />}
          </>
        )}
      </div>
    </section>
  );
}

const LoggedOut = () => (
  <p class="empty">
    <button type="button" class="link" onClick={() => { isLoginOpen.value = true; }}>Log in</button> to see your positions, orders and balances.
  </p>
);
