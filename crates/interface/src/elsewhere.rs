//! Where there is no packet socket: says what to do instead.

use crate::{Error, Options, Stop};
use std::io::{self, Read};
use std::path::Path;

/// Never made here.
#[derive(Debug)]
pub enum Interface {}

impl Interface {
    /// # Errors
    /// Always.
    pub fn open(options: &Options) -> Result<Interface, Error> {
        Err(Error::NotHere {
            name: options.name.clone(),
        })
    }

    /// # Errors
    /// Never called.
    pub fn give_up_rights(
        &self,
        _: Option<&str>,
        _: Option<&Path>,
        _: Option<u16>,
    ) -> Result<Option<String>, Error> {
        match *self {}
    }

    #[must_use]
    pub fn stopper(&self) -> Stop {
        match *self {}
    }
}

impl Read for Interface {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}
