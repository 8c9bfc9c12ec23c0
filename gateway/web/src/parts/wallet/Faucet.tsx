// Money to try with, on a test deployment.
import { useState } from 'preact/hooks';
import { request } from '../../api/client';
import { refreshSoon } from '../../live/account';
import { act } from '../../live/trade';
import { toast } from '../../store/toasts';

export function Faucet() {
  const [isBusy, setBusy] = useState(false);
  const ask = async (): Promise<void> => {
    setBusy(true);
    await act(async ({ token }) => {
      await request('POST', '/api/v1/faucet', { token, body: {} });
      toast('good', 'Test money is yours', '10,000 USDT of margin, and 10,000 USDT and 10,000 DF of spot.');
      refreshSoon();
    });
    setBusy(false);
  };
  return (
    <section class="card" aria-label="Faucet">
      <h2>Faucet</h2>
      <p class="note">This is a test deployment: nothing here is worth anything, and you may have some of it.</p>
      <button id="faucet" type="button" class="strong" disabled={isBusy} onClick={() => void ask()}>Get test money</button>
    </section>
  );
}
