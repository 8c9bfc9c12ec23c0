// The question before all orders are canceled.
import { openOrders } from '../store/account';
import { openDialog } from '../store/view';
import type { Market } from '../store/types';

export function askCancelAll(only: Market | null, cancelAll: (only: Market | null) => Promise<boolean>): void {
  openDialog('Cancel all open orders?', (close) => {
    const count = openOrders.value.filter(({ symbol, venue }) => !only || (symbol === only.symbol && venue === only.venue)).length;
    const run = (of: Market | null) => () => {
      close();
      void cancelAll(of);
    };
    return (
      <>
        <p>{only ? `${count} of ${only.symbol} are open, ${openOrders.value.length} in all markets.` : `${count} are open in all markets.`}</p>
        <div class="pair">
          {only && <button type="button" class="outline" onClick={run(only)} disabled={!count}>Cancel {count} of {only.symbol}</button>}
          <button id="cancel-all-sure" type="button" class="danger" onClick={run(null)}>Cancel all {openOrders.value.length}</button>
        </div>
      </>
    );
  });
}
