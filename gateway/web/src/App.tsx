// The page as a whole: header, banner, the page that the address names, dialogs and toasts.
import { useEffect } from 'preact/hooks';
import { streamState } from './api/stream';
import { Banner } from './parts/Banner';
import { Header } from './parts/Header';
import { LoginDialog } from './parts/LoginDialog';
import { Toasts } from './parts/Toasts';
import { DialogHost } from './parts/ui';
import { Keys } from './pages/Keys';
import { Proof } from './pages/Proof';
import { Trade } from './pages/Trade';
import { Wallet } from './pages/Wallet';
import { markets } from './store/market';
import { dialog, page } from './store/view';

const PAGES = { trade: Trade, wallet: Wallet, proof: Proof, keys: Keys };

export function App() {
  const name = page.value;
  const Shown = PAGES[name];
  useEffect(() => {
    dialog.value = null;
    scrollTo(0, 0);
  }, [name]);
  return (
    <div class={`app ${name}${streamState.value === 'lost' ? ' is-old' : ''}`}>
      <Header />
      <Banner />
      {markets.value.length ? <Shown /> : <main class="page"><p class="empty" role="status">Reaching the exchange…</p></main>}
      <footer class="foot">
        <span>Charts by <a href="https://www.tradingview.com/lightweight-charts/" rel="noopener">TradingView</a></span>
        <a href="/docs">API</a>
        <a href="/web/licenses.txt">Licences</a>
      </footer>
      <Toasts />
      <DialogHost />
      <LoginDialog />
    </div>
  );
}
