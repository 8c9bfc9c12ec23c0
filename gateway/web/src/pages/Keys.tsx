// API keys: made with their scopes and addresses, shown once, switched off and deleted.
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import * as exchange from '../api/exchange';
import { dayAndTime } from '../lib/format';
import { act } from '../live/trade';
import { isLoginOpen, session } from '../store/session';
import { openDialog } from '../store/view';
import { Check, Table } from '../parts/ui';

const keys = signal<exchange.ApiKey[] | null>(null);

async function load(): Promise<void> {
  const token = session.value?.token;
  keys.value = token ? await exchange.readKeys(token).catch(() => keys.value) : null;
}

export function Keys() {
  const token = session.value?.token;
  useEffect(() => void load(), [token]);
  return (
    <main class="page">
      <h1>API keys</h1>
      {!token ? (
        <p class="empty"><button type="button" class="link" onClick={() => { isLoginOpen.value = true; }}>Log in</button> to make and see your keys.</p>
      ) : (
        <>
          <section class="card" aria-label="New key">
            <h2>New key</h2>
            <NewKey />
          </section>
          <section class="card" aria-label="Keys">
            <h2>Your keys</h2>
            <KeyTable />
          </section>
        </>
      )}
    </main>
  );
}

function NewKey() {
  const [label, setLabel] = useState('');
  const [canTrade, setTrade] = useState(false);
  const [addresses, setAddresses] = useState('');
  const [days, setDays] = useState('0');
  const make = (event: Event): void => {
    event.preventDefault();
    void act(async ({ token }) => {
      const list = addresses.split(/[\s,]+/).filter(Boolean);
      const made = await exchange.makeKey(token, {
        label: label.trim(), permissions: canTrade ? ['read', 'trade'] : ['read'],
        ...(list.length && { ip_whitelist: list }),
        ...(days !== '0' && { expires_at: Math.floor(Date.now() / 1_000) + Number(days) * 86_400 }),
      });
      setLabel('');
      setAddresses('');
      openDialog('Your new key', (close) => <Made made={made} close={close} />);
      await load();
    });
  };
  return (
    <form id="new-api-key" class="stack" onSubmit={make}>
      <label class="box"><span>Label</span><input name="label" maxLength={64} required value={label} onInput={(event) => setLabel(event.currentTarget.value)} /></label>
      <div class="row">
        <Check label="Read" name="may-read" isOn isDisabled onChange={() => {}} />
        <Check label="Trade" name="may-trade" isOn={canTrade} onChange={setTrade} />
        <span class="note">A key can never withdraw.</span>
      </div>
      <label class="box"><span>Addresses</span><input name="addresses" placeholder="Any: 192.0.2.7, 198.51.100.0/24" value={addresses} onInput={(event) => setAddresses(event.currentTarget.value)} /></label>
      <label class="box">
        <span>Ends</span>
        <select name="days" value={days} onChange={(event) => setDays(event.currentTarget.value)}>
          <option value="0">never</option><option value="7">in a week</option><option value="30">in 30 days</option><option value="90">in 90 days</option>
        </select>
      </label>
      <button id="make-key" type="submit" class="strong">Make the key</button>
    </form>
  );
}

function Made({ made, close }: { made: exchange.ApiKey; close: () => void }) {
  return (
    <>
      <p class="note warn">The secret is shown this once. Copy it now.</p>
      <dl class="facts tall-facts">
        <div class="fact"><dt>API key</dt><dd><code id="made-key">{made.api_key}</code></dd></div>
        <div class="fact"><dt>Secret</dt><dd><code id="made-secret">{made.api_secret}</code></dd></div>
      </dl>
      <div class="pair">
        <button type="button" class="outline" onClick={() => void navigator.clipboard?.writeText(`${made.api_key}\n${made.api_secret}`)}>Copy both</button>
        <button type="button" class="strong" onClick={close}>I have it</button>
      </div>
    </>
  );
}

function KeyTable() {
  const own = session.value?.signer?.id;
  const rows = keys.value;
  const change = (id: number, enabled: boolean) => (): void => void act(async ({ token }) => {
    await exchange.changeKey(token, id, { enabled });
    await load();
  });
  const askDelete = (key: exchange.ApiKey): void => openDialog(`Delete “${key.label}”?`, (close) => (
    <>
      <p>Whatever uses it stops at once.</p>
      <button id="delete-sure" type="button" class="danger tall" onClick={() => {
        close();
        void act(async ({ token }) => {
          await exchange.deleteKey(token, key.id);
          await load();
        });
      }}>Delete</button>
    </>
  ));
  return (
    <Table label="API keys" id="api-keys" left={7} head={['Label', 'Key', 'May', 'Addresses', 'Made', 'Last used', 'Ends', '']} empty={rows === null ? 'Loading…' : rows.length ? null : 'No keys yet.'}>
      {(rows ?? []).map((key) => (
        <tr key={key.id} data-key={key.id}>
          <td>{key.label}{key.id === own && <span class="tag"> this page</span>}</td>
          <td><code title={key.api_key}>{key.api_key.slice(0, 8)}…</code></td>
          <td>{key.permissions.join(', ')}{key.enabled ? '' : ' (off)'}</td>
          <td>{key.ip_whitelist.join(', ') || 'any'}</td>
          <td>{dayAndTime(1_000 * key.created_at)}</td>
          <td>{key.last_used_at ? dayAndTime(1_000 * key.last_used_at) : 'never'}</td>
          <td>{key.expires_at ? dayAndTime(1_000 * key.expires_at) : 'never'}</td>
          <td class="acts">
            {key.id !== own && (
              <>
                <button type="button" class="outline small" onClick={change(key.id, !key.enabled)}>{key.enabled ? 'Switch off' : 'Switch on'}</button>
                <button type="button" class="outline small" onClick={() => askDelete(key)}>Delete</button>
              </>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
