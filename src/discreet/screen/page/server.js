// Talks to the server beside this page; the token is part of the page's own address.

const HERE = new URL(".", location.href);

// A tab keeps its name over a reload, so that it gets its record back; a copied tab takes a new one.
async function ownName() {
  const fresh = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  let name = sessionStorage.getItem("worker") || fresh();
  for (let tries = 0; navigator.locks && !(await holdsLock(name)); tries += 1) {
    if (tries < 10) await new Promise((later) => setTimeout(later, 100)); // a page that is reloaded may not be gone yet
    else name = fresh();
  }
  sessionStorage.setItem("worker", name);
  return name;
}

function holdsLock(name) {
  return new Promise((answer) => {
    navigator.locks.request("worker " + name, { ifAvailable: true }, (lock) => {
      answer(lock !== null);
      return lock === null ? undefined : new Promise(() => {});
    });
  });
}

const worker = ownName();

export class Problem extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export async function ask(action, details = {}) {
  let response;
  try {
    response = await fetch(new URL("api/" + action, HERE), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ worker: await worker, ...details }),
      cache: "no-store",
      credentials: "omit",
    });
  } catch {
    throw new Problem("The server does not answer. It may have been stopped; start the same command again. Nothing you did is lost.", 0);
  }
  if (response.ok) return response.json();
  if (response.status === 403) {
    throw new Problem("This address is no longer valid; open the one that discreet screen printed last. Nothing you did is lost.", 403);
  }
  const answer = await response.json().catch(() => ({}));
  throw new Problem(answer.problem || "The server could not do that; load the page again.", response.status);
}
