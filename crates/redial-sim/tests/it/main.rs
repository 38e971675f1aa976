//! All tests in one program: one to link instead of many.

mod amplification;
mod aws;
mod coverage;
mod determinism;
mod hostile;
mod layers;
mod library;
mod outage;
mod proposers;
mod queues;
mod reduction;
mod storms;
mod theory;
mod tune;
mod wave;
