// How the page is built: fixed names, a version of the content behind each (`?v=`), compressed copies, and the licences of what is
// in it. The same source gives the same bytes.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const exchange = process.env.RINGSIDE_URL ?? 'http://127.0.0.1:8080';
const COMPRESSED = /\.(js|css|html|txt|svg)$/

const version = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

// Names one version, of all that was built, behind each file that another names: a browser keeps such a file for good.
function versions(): Plugin {
  return {
    name: 'versions',
    writeBundle(options, bundle) {
      const folder = options.dir!;
      const texts = new Map(Object.keys(bundle).sort().map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
      const own = version([...texts.values()].join('\0'));
      const scripts = [...texts.keys()].filter((name) => name.endsWith('.js'));
      for (const [name, text] of texts) {
        let named = text;
        if (name.endsWith('.js')) for (const script of scripts) named = named.replaceAll(`./${script}`, `./${script}?v=${own}`);
        if (name.endsWith('.html')) named = named.replace(/\/web\/([a-z]+\.(?:js|css))/g, `/web/$1?v=${own}`);
        if (named !== text) writeFileSync(join(folder, name), named);
      }
    },
  };
}

// The licences of the libraries that the page runs.
function licences(): Plugin {
  return {
    name: 'licences',
    generateBundle() {
      const own = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> };
      const names = new Set(Object.keys(own.dependencies));
      for (const name of names) {
        const { dependencies = {} } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')) as { dependencies?: Record<string, string> };
        Object.keys(dependencies).forEach((further) => names.add(further));
      }
      const parts = [...names].sort().map((name) => {
        const folder = `node_modules/${name}`;
        const { version: of, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { version: string; license: string };
        const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)/i.test(file)).sort();
        const texts = files.filter((file) => existsSync(join(folder, file))).map((file) => readFileSync(join(folder, file), 'utf8').trim());
        return [`${name} ${of} (${license})`, ...texts].join('\n\n');
      });
      this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: `${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n` });
    },
  };
}

function compressed(): Plugin {
  return {
    name: 'compressed',
    writeBundle: {
      order: 'post',
      handler(options) {
        for (const name of readdirSync(options.dir!).filter((file) => COMPRESSED.test(file))) {
          const text = readFileSync(join(options.dir!, name));
          writeFileSync(join(options.dir!, `${name}.br`), brotliCompressSync(text));
          writeFileSync(join(options.dir!, `${name}.gz`), gzipSync(text, { level: 9 }));
        }
      },
    },
  };
}

export default defineConfig({
  base: '/web/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: 'dist',
    target: 'es2022',
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: {
      input: { app: 'index.html', docs: 'docs.html' },
      output: { entryFileNames: '[name].js', chunkFileNames: '[name].js', assetFileNames: (asset) => (asset.names[0]?.endsWith('.css') ? 'app.css' : '[name][extname]') },
    },
  },
  plugins: [versions(), licences(), compressed()],
  server: {
    proxy: Object.fromEntries(
      ['/api', '/fapi', '/account', '/orders', '/positions', '/unified', '/withdraw', '/openapi.json', '/ws', '/web/settings.json', '/web/latency.json', '/web/withdrawals.json']
        .map((path) => [path, { target: exchange, ws: path === '/ws', changeOrigin: true }])),
  },
});
