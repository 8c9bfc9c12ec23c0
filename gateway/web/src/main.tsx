// Start: settings and markets first, then the streams. During a restart the exchange answers that it is not there yet.
import { render } from 'preact';
import { readSettings } from './api/exchange';
import { connect } from './api/stream';
import { App } from './App';
import { startAccount } from './live/account';
import { startLatency } from './live/latency';
import { startLogin } from './live/login';
import { loadMarkets, startMarket } from './live/market';
import { startShortcuts } from './parts/Shortcuts';
import { setTheme, theme } from './store/preferences';
import { settings } from './store/session';
import './style/theme.css';
import './style/parts.css';
import './style/layout.css';

const RETRY_MS = 1_000;

async function start(): Promise<void> {
  setTheme(theme.value);
  // What is painted before any script has come.
  const element = document.getElementById('app')!;
  element.replaceChildren();
  render(<App />, element);
  for (;;) {
    try {
      settings.value = await readSettings();
      await loadMarkets();
      break;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
  startLogin();
  startMarket();
  startAccount();
  startLatency();
  startShortcuts();
  connect();
}

void start();
