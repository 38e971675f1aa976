//! The smallest program whose steps are remembered: run it twice.

#![expect(clippy::print_stdout, reason = "it says what it does")]

use redial_core::{Policy, policy};
use redial_flow::steps::{DeadLetter, Run, Store};

const CHARGE: Policy = policy!("attempts: 5, delay: 1s, backoff: exponential, jitter: full");
const SHIP: Policy = policy!("attempts: 3, delay: 10s");

async fn charge(order: u32) -> Result<String, std::io::Error> {
    println!("charging order {order}");
    Ok(format!("paid-{order}"))
}

async fn ship(order: u32, paid: &str) -> Result<String, std::io::Error> {
    println!("shipping order {order}");
    Ok(format!("order {order} is on its way, {paid}"))
}

async fn checkout(run: Run, order: u32) -> Result<String, DeadLetter> {
    let paid = run.step("charge", &CHARGE, || charge(order)).await?;
    run.step("ship", &SHIP, || ship(order, &paid)).await
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::open("orders.redial")?;
    println!("{}", store.run("order-17", checkout, 17).await?);
    Ok(())
}
