// The API for people: made of /openapi.json, which the exchange makes of its routes. What is not there is not here.
import { render, type ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { setTheme, theme } from './store/preferences';
import './style/theme.css';
import './style/parts.css';
import './style/docs.css';

interface Schema {
  $ref?: string; anyOf?: Schema[]; type?: string; enum?: unknown[]; pattern?: string; description?: string;
  items?: Schema; prefixItems?: Schema[]; properties?: Record<string, Schema>; required?: string[];
}
interface Param { name: string; in: string; required: boolean; description: string; schema: Schema }
interface Body { content?: Record<string, { schema: Schema }> }
interface Operation {
  tags: string[]; summary: string; parameters?: Param[]; requestBody?: Body; responses: Record<string, Body & { description: string }>;
  security: Record<string, unknown>[]; 'x-weight': number | string; 'x-api-key-permission'?: string; 'x-codeSamples': { label: string; source: string }[];
}
interface Document { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Schema> } }
interface Shown { id: string; method: string; path: string; operation: Operation }

const CREDENTIALS: Record<string, string> = {
  token: 'login token', apiKey: 'API key', signedKey: 'API key and signature', adminKey: "administrator's or operator's key",
};
const TITLES: Record<string, string> = { perpetual: 'perpetual futures (/fapi, as Binance USD-M)' };
const DEPTH = 3;
const DECIMAL = /^\^-?\??\[0-9\]/;

let schemas: Record<string, Schema> = {};

function resolved(schema: Schema): Schema {
  const name = schema.$ref?.split('/').pop();
  return name ? { ...schemas[name], description: schema.description } : schema;
}

// A shape in a word or two.
function word(given: Schema): string {
  const schema = resolved(given);
  if (schema.anyOf) return [...new Set(schema.anyOf.map(word))].join(' or ');
  if (schema.enum) return schema.enum.map(String).join(' | ');
  if (schema.prefixItems) return `[${schema.prefixItems.map(word).join(', ')}]`;
  if (schema.type === 'array') return `list of ${word(schema.items ?? {})}`;
  if (schema.properties) return 'object';
  if (schema.pattern && DECIMAL.test(schema.pattern) && schema.pattern.includes('\\.')) return 'decimal';
  return schema.type ?? 'any';
}

// The object that a shape is, or is a list of.
function object(given: Schema | undefined): Schema | undefined {
  if (!given) return undefined;
  const schema = resolved(given);
  if (schema.properties) return schema;
  return [schema.items, ...(schema.anyOf ?? []), ...(schema.prefixItems ?? [])].map((inner) => object(inner)).find(Boolean);
}

function Members({ schema, depth = 0 }: { schema: Schema; depth?: number }) {
  const entries = Object.entries(schema.properties ?? {});
  return (
    <>
      {entries.map(([name, member]) => {
        const inner = depth < DEPTH ? object(member) : undefined;
        return (
          <>
            <tr>
              <th scope="row" style={`padding-left:${depth * 16}px`}><code>{name}</code></th>
              <td>{word(member)}</td>
              <td>{schema.required?.includes(name) ? 'yes' : ''}</td>
              <td>{resolved(member).description}</td>
            </tr>
            {inner && <Members schema={inner} depth={depth + 1} />}
          </>
        );
      })}
    </>
  );
}

function Table({ title, kind, children }: { title: string; kind: string; children: ComponentChildren }) {
  return (
    <>
      {title && <h3>{title}</h3>}
      <div class="wide">
        <table>
          <thead><tr><th scope="col">Name</th><th scope="col">Shape</th><th scope="col">{kind}</th><th scope="col">What it is</th></tr></thead>
          <tbody>{children}</tbody>
        </table>
      </div>
    </>
  );
}

function Sample({ label, source }: { label: string; source: string }) {
  const [copied, setCopied] = useState(false);
  const text = source.replaceAll('http://127.0.0.1:8080', location.origin).replaceAll('ws://127.0.0.1:8080', location.origin.replace('http', 'ws'));
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <figure>
      <figcaption>{label}<button class="small quiet" onClick={() => void copy()}>{copied ? 'Copied' : 'Copy'}</button></figcaption>
      <pre tabIndex={0}>{text}</pre>
    </figure>
  );
}

function Details({ shown: { id, operation } }: { shown: Shown }) {
  const body = operation.requestBody?.content?.['application/json']?.schema;
  const done = operation.responses['200'];
  const answer = done?.content?.['application/json']?.schema;
  const [asked, answered] = [object(body), object(answer)];
  const refused = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400);
  return (
    <div class="details">
      <p class="soft">
        {operation.security.length ? operation.security.map((one) => Object.keys(one).map((name) => CREDENTIALS[name]).join() || 'nothing').join(' or ') : 'No credential'}
        {operation['x-api-key-permission'] && `, permission ${operation['x-api-key-permission']}`} · weight {operation['x-weight']} · <a href={`#${id}`}>link</a>
      </p>
      {operation['x-codeSamples'].map((sample) => <Sample key={sample.label} {...sample} />)}
      {operation.parameters && (
        <Table title="Parameters" kind="Must">
          {[...operation.parameters].sort((one, other) => Number(other.required) - Number(one.required)).map((param) => (
            <tr key={param.name}>
              <th scope="row"><code>{param.name}</code></th>
              <td>{word(param.schema)}{param.in === 'query' ? '' : `, in the ${param.in}`}</td>
              <td>{param.required ? 'yes' : ''}</td>
              <td>{param.description}</td>
            </tr>
          ))}
        </Table>
      )}
      {asked && <Table title="Body" kind="Must"><Members schema={asked} /></Table>}
      {answer && <h3>Answer: {word(answer)}</h3>}
      {answered && <Table title="" kind="Always"><Members schema={answered} /></Table>}
      <h3>Refusals</h3>
      <dl>{refused.map(([status, { description }]) => <><dt>{status}</dt><dd>{description}</dd></>)}</dl>
    </div>
  );
}

function Entry({ shown, open }: { shown: Shown; open: boolean }) {
  const [isOpen, setOpen] = useState(open);
  useEffect(() => {
    if (!open) return;
    setOpen(true);
    document.getElementById(shown.id)?.scrollIntoView();
  }, [open]);
  return (
    <details id={shown.id} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <b class={`method ${shown.method}`}>{shown.method.toUpperCase()}</b> <code>{shown.path}</code> <span>{shown.operation.summary}</span>
      </summary>
      {isOpen && <Details shown={shown} />}
    </details>
  );
}

function Intro() {
  const { origin } = location;
  return (
    <>
      <h1>The API of this exchange</h1>
      <p>
        Perpetual futures answer under <code>/fapi</code> in the shapes of the Binance USD-M API: existing clients need this address and a key, no
        other change. The spot market, accounts and operators have routes of their own. Streams: <code>{origin.replace('http', 'ws')}/ws/btcusdt@aggTrade</code>,
        an account's at <code>/ws/&lt;listenKey&gt;</code>, requests at <code>/ws-fapi/v1</code>, channels of the spot side at <code>/ws</code>.
      </p>
      <p>
        Samples want <code>$TOKEN</code> (<code>ringside login --url {origin} --key …</code>), <code>$API_KEY</code> and <code>$API_SECRET</code>{' '}
        (POST /api/v1/account/api-keys), <code>$ADMIN_KEY</code>; those of ccxt this:
      </p>
      <Sample
        label="ccxt"
        source={`import ccxt\nexchange = ccxt.binanceusdm({'apiKey': API_KEY, 'secret': API_SECRET, 'options': {'fetchCurrencies': False}})\nexchange.urls['api'].update({name: url.replace('https://fapi.binance.com', 'http://127.0.0.1:8080')\n    for name, url in exchange.urls['api'].items() if name.startswith('fapi')})`}
      />
      <p class="soft">For programs: <a href="/openapi.json">openapi.json</a>. Every amount is a decimal string; HEAD is answered wherever GET is.</p>
    </>
  );
}

function Docs({ all }: { all: Shown[] }) {
  const [sought, setSought] = useState('');
  const [hash, setHash] = useState(location.hash.slice(1));
  useEffect(() => addEventListener('hashchange', () => setHash(location.hash.slice(1))), []);
  const words = sought.toLowerCase().split(' ').filter(Boolean);
  const found = all.filter(({ method, path, operation }) => words.every((one) => `${method} ${path} ${operation.summary}`.toLowerCase().includes(one)));
  const tags = [...new Set(found.map(({ operation }) => operation.tags[0] ?? ''))];
  const of = (tag: string): Shown[] => found.filter(({ operation }) => operation.tags[0] === tag);
  const anchor = (tag: string): string => `tag-${tag.replaceAll(' ', '-')}`;
  return (
    <div class="docs">
      <nav aria-label="Operations">
        <a class="brand" href="/">Ringside</a>
        <label class="box"><span>Find</span><input type="search" value={sought} onInput={(event) => setSought(event.currentTarget.value)} placeholder="order, depth, POST" /></label>
        {tags.map((tag) => <a key={tag} href={`#${anchor(tag)}`}>{tag} <i class="soft">{of(tag).length}</i></a>)}
        <button class="small outline" onClick={() => setTheme(theme.value === 'dark' ? 'light' : 'dark')}>Dark or light</button>
      </nav>
      <main>
        <Intro />
        {tags.map((tag) => (
          <section key={tag} id={anchor(tag)}>
            <h2>{TITLES[tag] ?? tag}</h2>
            {of(tag).map((shown) => <Entry key={shown.id} shown={shown} open={hash === shown.id} />)}
          </section>
        ))}
        {found.length === 0 && <p class="soft" role="status">Nothing of that name.</p>}
      </main>
    </div>
  );
}

async function start(): Promise<void> {
  setTheme(theme.value);
  const element = document.getElementById('docs')!;
  render(<p class="empty" role="status">Reading the API…</p>, element);
  const document_ = (await (await fetch('/openapi.json')).json()) as Document;
  ({ schemas } = document_.components);
  const all = Object.entries(document_.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ id: `${method}${path.replaceAll(/[{}]/g, '').replaceAll('/', '-')}`, method, path, operation })));
  render(<Docs all={all} />, element);
}

void start();
