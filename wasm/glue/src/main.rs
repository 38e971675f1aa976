//! glue MODULE DIRECTORY: writes the JavaScript around a WebAssembly module, for Node.

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [module, directory] = &arguments[..] else { panic!("usage: glue MODULE DIRECTORY") };
    wasm_bindgen_cli_support::Bindgen::new()
        .input_path(module)
        .nodejs(true)
        .and_then(|glue| glue.typescript(false).generate(directory))
        .unwrap_or_else(|error| panic!("{module}: {error:?}"));
}
