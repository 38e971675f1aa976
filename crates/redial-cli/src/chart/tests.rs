//! Figures in, pictures and text out.

mod samples;
