//! The engine: captures and configuration into results and progress events.
