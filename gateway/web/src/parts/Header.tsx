// The top of every page: where one is, what deployment it is, how the connection does, and who is logged in.
import { roundTrip, streamState } from '../api/stream';
import { logOut, logOutEverywhere } from '../live/login';
import { shortAddress } from '../lib/format';
import { asksFirst, turnTheme } from '../store/preferences';
import { isLoginOpen, isTest, session } from '../store/session';
import { isPhone, openDialog, page, PAGES } from '../store/view';
import { LatencyChip } from './LatencyChip';
import { Shortcuts } from './Shortcuts';
import { Check, Menu } from './ui';

const STATES = { open: 'Live', connecting: 'Connecting', lost: 'Offline' };

export function Header() {
  return (
    <header class="top">
      <a class="brand" href="#/trade" aria-label="Ringside, trade"><Mark />Ringside</a>
      {isTest.value && <span class="badge" id="test-badge">TEST<span class="wide"> DEPLOYMENT</span></span>}
      {!isPhone.value && <Pages />}
      <span class="space" />
      {!isPhone.value && <LatencyChip />}
      <span id="health" class={`health ${streamState.value}`} role="status" title={roundTrip.value ? `${roundTrip.value.toFixed(0)} ms to the exchange and back` : ''}>
        <span>{STATES[streamState.value]}</span>
      </span>
      <button type="button" class="quiet icon wide" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={() => openDialog('Keyboard shortcuts', () => <Shortcuts />)}>?</button>
      <button
        id="theme" type="button" class="quiet icon" aria-label="Dark or light" title="Dark or light"
        onClick={turnTheme}
      >
        ◐
      </button>
      <AccountButton />
      {isPhone.value && (
        <Menu id="more" face="☰" class="quiet icon" label="Pages and latency">
          {(close) => <><div onClick={close}><Pages /></div><LatencyChip /></>}
        </Menu>
      )}
    </header>
  );
}

const Pages = () => (
  <nav aria-label="Pages">
    {PAGES.map(([name, text]) => (
      <a key={name} href={`#/${name}`} aria-current={page.value === name ? 'page' : undefined}>{text}</a>
    ))}
  </nav>
);

function AccountButton() {
  const by = session.value;
  if (!by) {
    return <button id="login" type="button" class="strong" onClick={() => { isLoginOpen.value = true; }}>Log in</button>;
  }
  return (
    <Menu id="account" face={<>{shortAddress(by.address)} <span aria-hidden="true">▾</span></>} class="outline">
      {(close) => {
        const choose = (what: () => void) => () => {
          close();
          what();
        };
        return (
          <>
            <p class="note"><code>{by.address}</code></p>
            <Check label="Ask before an order is placed" name="asks-first" isOn={asksFirst.value} onChange={(isOn) => { asksFirst.value = isOn; }} />
            <button type="button" onClick={choose(() => { location.hash = '#/wallet'; })}>Wallet and transfers</button>
            <button type="button" onClick={choose(() => { location.hash = '#/keys'; })}>API keys</button>
            <button id="logout" type="button" onClick={choose(logOut)}>Log out</button>
            <button id="logout-everywhere" type="button" onClick={choose(() => void logOutEverywhere())}>Log out everywhere</button>
          </>
        );
      }}
    </Menu>
  );
}

const Mark = () => (
  <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
    <rect x="3" y="3" width="18" height="18" rx="4" fill="none" stroke="currentColor" stroke-width="2" />
    <path d="M8 15.5v-5M12 17V8M16 13.5v-6" stroke="var(--accent)" stroke-width="2.4" stroke-linecap="round" />
  </svg>
);
