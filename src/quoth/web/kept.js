// What this browser keeps. A browser may refuse (private windows, policies): then nothing is kept, and nothing breaks.

function reading(storage, name) {
  try {
    return storage().getItem(name);
  } catch {
    return null;
  }
}

function writing(storage, name, value) {
  try {
    if (value === null) storage().removeItem(name);
    else storage().setItem(name, value);
  } catch {
    // See above.
  }
}

const local = () => window.localStorage;
const session = () => window.sessionStorage;

export const kept = {
  get: (name) => reading(local, name),
  set: (name, value) => writing(local, name, value),
};

export const keptForTab = {
  get: (name) => reading(session, name),
  set: (name, value) => writing(session, name, value),
};
