//! All tests in one program: one to link instead of thirteen.

mod amplification;
mod aws;
mod determinism;
mod hostile;
mod layers;
mod outage;
mod proposers;
mod queues;
mod reduction;
mod storms;
mod theory;
mod tune;
mod wave;
