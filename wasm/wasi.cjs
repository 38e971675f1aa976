// Runs a WASI program.
const { readFileSync } = require('node:fs');
const { WASI } = require('node:wasi');

const wasi = new WASI({ version: 'preview1' });
const program = new WebAssembly.Module(readFileSync(process.argv[2]));
process.exitCode = wasi.start(new WebAssembly.Instance(program, wasi.getImportObject()));
