//! `redial flow remove`: runs that are not wanted any more.

use redial_flow::store::{Store, StoreError};

use super::{failure, parsed};
use crate::args::FlowRemove;
use crate::exit_code;
use crate::output::{Failure, print, print_error};

/// Removes each. Where that fails it is said, the others have their turn, and the exit code says it.
pub(crate) fn run(arguments: &FlowRemove) -> Result<u8, Failure> {
    let store = Store::at(&arguments.store.store);
    let mut code = 0;
    for name in &arguments.runs {
        match remove(&store, name) {
            Ok(()) => print(&format!("removed {name}\n"))?,
            Err((failed, message)) => {
                print_error(&message);
                code = code.max(failed);
            }
        }
    }
    Ok(code)
}

fn remove(store: &Store, name: &str) -> Result<(), (u8, String)> {
    let message = |failure| match failure {
        Failure::Message(message) => message,
        _ => String::new(),
    };
    let name = parsed(name).map_err(|failure| (exit_code::ERROR, message(failure)))?;
    store.remove(&name).map_err(|error| {
        let is_held = matches!(error, StoreError::Held { .. });
        (if is_held { exit_code::HELD } else { exit_code::ERROR }, message(failure(&error)))
    })
}
