// Money: what there is, between the ledgers, in and out.
import { Assets } from '../parts/account/Assets';
import { TransferHistory } from '../parts/account/Histories';
import { TransferForm } from '../parts/account/TransferForm';
import { Deposits } from '../parts/wallet/Deposits';
import { Faucet } from '../parts/wallet/Faucet';
import { Withdrawals } from '../parts/wallet/Withdrawals';
import { isLoggedIn, isLoginOpen, isTest } from '../store/session';

export function Wallet() {
  return (
    <main class="page">
      <h1>Wallet</h1>
      <section class="card" aria-label="Assets">
        <h2>Assets</h2>
        {isLoggedIn.value ? <Assets /> : <p class="empty"><button type="button" class="link" onClick={() => { isLoginOpen.value = true; }}>Log in</button> to see your balances.</p>}
      </section>
      {isLoggedIn.value && (
        <section class="card" aria-label="Transfer">
          <h2>Transfer between spot and perpetual</h2>
          <TransferForm close={() => {}} />
          <TransferHistory />
        </section>
      )}
      {isTest.value && <Faucet />}
      <Deposits />
      <Withdrawals />
    </main>
  );
}
