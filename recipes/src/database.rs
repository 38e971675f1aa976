//! A real database in a file, which another connection has locked for a while.

use std::cell::RefCell;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::NamedTempFile;

thread_local! {
    /// Who has the lock, and after which attempt of the other it lets go.
    static HOLDER: RefCell<Option<(u32, Connection)>> = const { RefCell::new(None) };
}

/// A database with two accounts, of 100 and 0, that is locked until [`release`] is told of so many
/// failed attempts; the file is gone when it is dropped.
pub fn locked_for(attempts: u32) -> (NamedTempFile, Connection) {
    let file = NamedTempFile::new().expect("a temporary file");
    let open = || {
        let connection = Connection::open(file.path()).expect("a database");
        connection.busy_timeout(Duration::ZERO).expect("no other layer that retries");
        connection
    };
    let holder = open();
    holder
        .execute_batch(
            "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL CHECK (balance >= 0));
             INSERT INTO account VALUES (1, 100), (2, 0);
             BEGIN IMMEDIATE;",
        )
        .expect("two accounts");
    let connection = open();
    HOLDER.set(Some((attempts, holder)));
    (file, connection)
}

/// An attempt has failed. The other connection lets go of the lock when it was the last of those
/// that should.
pub fn release(attempt: u32) {
    HOLDER.with_borrow_mut(|held| {
        if held.as_ref().is_some_and(|(attempts, _)| attempt >= *attempts) {
            *held = None;
        }
    });
}
