// Logging in: by the browser's wallet, or on a test deployment by a pasted key.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { toHex } from '../chain/sign';
import { refusalOf } from '../chain/wallet';
import { Refused } from '../api/client';
import { logInByKey, logInByWallet } from '../live/login';
import { isLoginOpen, isTest } from '../store/session';
import { refusalWords } from '../words/refusals';

export function LoginDialog() {
  const element = useRef<HTMLDialogElement>(null);
  const [key, setKey] = useState('');
  const [isShown, setShown] = useState(false);
  const [answer, setAnswer] = useState<[mood: string, text: string]>(['', '']);
  const [isBusy, setBusy] = useState(false);
  const isOpen = isLoginOpen.value;
  useLayoutEffect(() => {
    if (isOpen) element.current?.showModal();
    else element.current?.close();
    setAnswer(['', '']);
    setKey('');
    setShown(false);
  }, [isOpen]);
  const run = async (what: () => Promise<void>): Promise<void> => {
    setBusy(true);
    try {
      await what();
    } catch (error) {
      const words = error instanceof Refused ? refusalWords(error) : null;
      setAnswer(['bad', words ? `${words.title}. ${words.text}` : refusalOf(error)]);
    } finally {
      setBusy(false);
    }
  };
  const hasWallet = Boolean(window.ethereum);
  return (
    <dialog id="login-dialog" ref={element} aria-labelledby="login-title" onClose={() => { isLoginOpen.value = false; }}>
      {isOpen && (
        <div class="dialog">
          <header><h2 id="login-title">Log in</h2><button type="button" class="quiet" aria-label="Close" onClick={() => { isLoginOpen.value = false; }}>✕</button></header>
          <p class="note">You sign a message with your wallet; nothing is sent to a chain and nothing is paid.</p>
          <button id="wallet" type="button" class="strong tall" disabled={!hasWallet || isBusy} onClick={() => void run(logInByWallet)}>
            {hasWallet ? 'Browser wallet' : 'No browser wallet found'}
          </button>
          {isTest.value && (
            <form id="test-login" onSubmit={(event) => {
              event.preventDefault();
              void run(() => logInByKey(key));
            }}>
              <p class="or"><span>or</span></p>
              <p class="note">
                This is a test deployment: a test key will do. It stays in this tab until you log out; never paste a key that guards
                anything of value.
              </p>
              <label class="box">
                <span>Test key</span>
                <input
                  id="key" name="key" type={(isShown ? 'text' : 'password') as 'password'} autocomplete="off" spellcheck={false} placeholder="64 hex digits" value={key}
                  onInput={(event) => setKey(event.currentTarget.value)}
                />
              </label>
              <div class="pair">
                <button id="new-key" type="button" class="outline" onClick={() => {
                  setKey(toHex(crypto.getRandomValues(new Uint8Array(32))).slice(2));
                  setShown(true);
                  setAnswer(['', 'Keep this key: it is the only way back into its account.']);
                }}>New key</button>
                <button id="with-key" type="submit" class="strong" disabled={isBusy}>Log in with key</button>
              </div>
            </form>
          )}
          <p id="login-answer" class={`note ${answer[0]}`} role="status">{answer[1]}</p>
        </div>
      )}
    </dialog>
  );
}
