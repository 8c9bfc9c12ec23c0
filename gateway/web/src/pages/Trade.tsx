// The terminal: all of it on a desk, its parts as tabs on a phone.
import { ChartPanel } from '../chart/ChartPanel';
import { AccountTabs } from '../parts/account/AccountTabs';
import { Summary } from '../parts/account/Summary';
import { BookPanel } from '../parts/BookPanel';
import { MarketBar } from '../parts/MarketBar';
import { Sheet } from '../parts/Sheet';
import { Tape } from '../parts/Tape';
import { Ticket } from '../parts/ticket/Ticket';
import { Tabs } from '../parts/ui';
import { side } from '../store/ticket';
import { isPhone, isSheetOpen, phoneTab, type PhoneTab } from '../store/view';
import { market } from '../store/market';
import type { Side } from '../store/types';

export function Trade() {
  return isPhone.value ? <Phone /> : <Desk />;
}

const Heading = () => <h1 class="unseen">Trade {market.value?.symbol}</h1>;

const Desk = () => (
  <main class="desk">
    <Heading />
    <MarketBar />
    <div class="left">
      <ChartPanel />
      <AccountTabs />
    </div>
    <div class="middle-column">
      <BookPanel />
      <Tape />
    </div>
    <aside class="panel right" aria-label="Trade">
      <Ticket />
      <Summary />
    </aside>
  </main>
);

const PHONE_TABS: Array<[PhoneTab, string]> = [['chart', 'Chart'], ['book', 'Book'], ['trades', 'Trades'], ['account', 'Account']];

function Phone() {
  const tab = phoneTab.value;
  const take = (taken: Side) => (): void => {
    side.value = taken;
    isSheetOpen.value = true;
  };
  const isSpot = market.value?.venue === 'spot';
  return (
    <main class="phone">
      <Heading />
      <MarketBar />
      <div class="phone-body">
        {tab === 'chart' && <ChartPanel />}
        {tab === 'book' && <BookPanel />}
        {tab === 'trades' && <Tape />}
        {tab === 'account' && <><Summary /><AccountTabs /></>}
      </div>
      <Tabs label="Parts of the terminal" tabs={PHONE_TABS} value={tab} onChoose={(value) => { phoneTab.value = value; }} />
      <div class="sticky" role="group" aria-label="Trade">
        <button id="buy" type="button" class="buy tall" onClick={take('buy')}>{isSpot ? 'Buy' : 'Buy / Long'}</button>
        <button id="sell" type="button" class="sell tall" onClick={take('sell')}>{isSpot ? 'Sell' : 'Sell / Short'}</button>
      </div>
      <Sheet />
    </main>
  );
}
