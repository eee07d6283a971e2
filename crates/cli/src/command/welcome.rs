//! `slowside` alone: what it is for, and what to type next.

use super::print;
use crate::exit::Done;

const WELCOME: &str = "\
slowside reads packet captures of database and storage traffic and says which
side is slow (client, network or server), by how much, and why.

  slowside demo                        see an answer: captures are built in
  slowside client.pcap server.pcap     diagnose yours; one end alone will do
  sudo tcpdump -i eth0 -s 256 -w - port 2049 | slowside -

`slowside --help` lists the commands, `slowside COMMAND --help` explains one.
";

pub(crate) fn run() -> anyhow::Result<Done> {
    print(|out| out.write_all(WELCOME.as_bytes()))?;
    Ok(Done::Fine)
}
