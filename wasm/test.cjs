// Runs the tests of the module whose glue is named, and those that need to change the host.
const assert = require('node:assert');
const glue = require('node:path').resolve(process.argv[2]);

// A new instance, as another process would have it: its memory is empty.
function instance() {
  delete require.cache[glue];
  return require(glue);
}

// Runs what it is given in a host that lacks some globals, or has others in their place.
async function inHost(globals, run) {
  const kept = {};
  for (const name in globals) {
    kept[name] = Object.getOwnPropertyDescriptor(globalThis, name);
    delete globalThis[name];
    if (globals[name]) globalThis[name] = globals[name];
  }
  try {
    return await run(instance());
  } finally {
    for (const name in kept) Object.defineProperty(globalThis, name, kept[name]);
  }
}

const own = {
  async no_two_instances_draw_the_same_words() {
    const words = new Set(Array.from({ length: 100 }, () => instance().word()));
    assert.equal(words.size, 100);
  },

  async a_date_is_counted_from_the_hosts_time_of_day() {
    const asked = instance().wait_asked(Date.now(), 3600);
    assert(asked > 3000 && asked <= 3600, `${asked}`);
  },

  async a_timer_that_fires_early_shortens_no_delay() {
    // A clock of the test's own, and timers that fire after 8 ms, whatever was asked for.
    let time = 0;
    const asked = [];
    const host = {
      performance: { timeOrigin: 1_700_000_000_000, now: () => time },
      setTimeout: (callback, wait) => {
        asked.push(wait);
        setImmediate(() => ((time += 8), callback()));
      },
    };
    assert.equal(await inHost(host, (module) => module.sleep(20)), 24);
    assert.deepEqual(asked, [20, 12, 4]);
  },

  async a_sleep_that_is_dropped_clears_its_timer() {
    const set = [];
    const cleared = [];
    const host = {
      setTimeout: (_callback, wait) => set.push(wait),
      clearTimeout: (timer) => cleared.push(timer),
    };
    await inHost(host, async (module) => {
      await module.begin_to_sleep(1);
      await module.begin_to_sleep(60); // more than 31 bits of milliseconds, which would fire at once
      await module.begin_to_sleep(2 ** 32 - 1);
    });
    assert.deepEqual(set, [86_400_000, 2 ** 31 - 1, 2 ** 31 - 1]);
    assert.deepEqual(cleared, [1, 2, 3]);
  },

  async a_host_that_has_next_to_nothing_will_do() {
    const nothing = { crypto: null, performance: null, setTimeout: null, clearTimeout: null };
    const run = async (module) => [module.word(), await module.sleep(20)];
    const [one, slept] = await inHost(nothing, run);
    const [other] = await inHost(nothing, run);
    assert.notEqual(one, other);
    assert(slept >= 20, `${slept}`);
  },
};

// When nothing is left to wait for, Node ends the process, also in the middle of a test.
let running;
process.exitCode = 1;
process.on('exit', () => running && console.log(`${running} ... NEVER ENDED`));

(async () => {
  const module = instance();
  // A name of more than three words is a sentence.
  const tests = Object.entries(module).filter(([name]) => name.split('_').length > 3);
  let failed = 0;
  for (const [name, run] of [...tests, ...Object.entries(own)]) {
    running = name;
    try {
      await run();
      console.log(`${name} ... ok`);
    } catch (error) {
      failed++;
      console.log(`${name} ... FAILED`);
      console.log(error);
    }
  }
  running = null;
  process.exitCode = failed ? 1 : 0;
})();
