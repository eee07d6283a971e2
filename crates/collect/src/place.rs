//! What a command line calls an end, `[USER@]HOST[:PORT]` and its kin, into where that is and how it is reached.

use std::fmt;
use std::str::FromStr;

/// Where an end is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// This host.
    Local,
    /// As `ssh` takes it; what its configuration calls so serves too.
    Ssh {
        user: Option<String>,
        host: String,
    },
    Docker {
        container: String,
    },
    Kubectl {
        namespace: Option<String>,
        pod: String,
        container: Option<String>,
    },
}

/// A place, and the port of the service there if it was said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    pub place: Place,
    pub port: Option<u16>,
}

const FORMS: &str = "an end is [USER@]HOST[:PORT], local[:PORT], docker:CONTAINER[:PORT] or kubectl:[NAMESPACE/]POD[/CONTAINER][:PORT]";

impl Place {
    /// The name by which others may know its address.
    pub(crate) fn host(&self) -> Option<&str> {
        match self {
            Place::Ssh { host, .. } => Some(host),
            _ => None,
        }
    }

    /// What carries us there.
    #[must_use]
    pub fn by(&self) -> &'static str {
        match self {
            Place::Local => "local",
            Place::Ssh { .. } => "ssh",
            Place::Docker { .. } => "docker",
            Place::Kubectl { .. } => "kubectl",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Local => f.write_str("local"),
            Place::Ssh { user: None, host } => f.write_str(host),
            Place::Ssh {
                user: Some(user),
                host,
            } => write!(f, "{user}@{host}"),
            Place::Docker { container } => write!(f, "docker:{container}"),
            Place::Kubectl {
                namespace,
                pod,
                container,
            } => {
                let namespace = namespace.as_ref().map(|n| format!("{n}/"));
                let container = container.as_ref().map(|c| format!("/{c}"));
                let (before, behind) =
                    (namespace.unwrap_or_default(), container.unwrap_or_default());
                write!(f, "kubectl:{before}{pod}{behind}")
            }
        }
    }
}

/// A name that no program takes for an option, and nothing for more than a name.
fn name(text: &str) -> Result<String, String> {
    let fine = |c: char| c.is_alphanumeric() || "._-%:".contains(c);
    match !text.is_empty() && !text.starts_with('-') && text.chars().all(fine) {
        true => Ok(text.to_owned()),
        false => Err(FORMS.to_owned()),
    }
}

/// What stands before a port, and the port.
fn port(text: &str) -> Result<(&str, Option<u16>), String> {
    if let Some((host, behind)) = text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        return match behind.strip_prefix(':') {
            Some(port) => Ok((host, Some(number(port)?))),
            None if behind.is_empty() => Ok((host, None)),
            None => Err(FORMS.to_owned()),
        };
    }
    match text.rsplit_once(':') {
        // An address of IPv6 without brackets has no port.
        Some((host, _))
            if host.contains(':')
                && !host.starts_with("docker:")
                && !host.starts_with("kubectl:") =>
        {
            Ok((text, None))
        }
        Some(("docker" | "kubectl", behind)) if behind.parse::<u16>().is_err() => Ok((text, None)),
        Some((host, port)) => Ok((host, Some(number(port)?))),
        None => Ok((text, None)),
    }
}

fn number(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|&n: &u16| n > 0);
    number.ok_or_else(|| format!("`{text}` is no port; {FORMS}"))
}

impl FromStr for End {
    type Err = String;

    fn from_str(text: &str) -> Result<End, String> {
        let (user, rest) = match text.split_once('@') {
            Some((user, rest)) => (Some(name(user)?), rest),
            None => (None, text),
        };
        let (host, port) = port(rest)?;
        let place = match (user, host.split_once(':')) {
            (None, None) if host == "local" => Place::Local,
            (None, Some(("docker", container))) => Place::Docker {
                container: name(container)?,
            },
            (None, Some(("kubectl", pod))) => {
                let parts: Vec<&str> = pod.split('/').collect();
                let (namespace, pod, container) = match parts.as_slice() {
                    [pod] => (None, *pod, None),
                    [namespace, pod] => (Some(*namespace), *pod, None),
                    [namespace, pod, container] => (Some(*namespace), *pod, Some(*container)),
                    _ => return Err(FORMS.to_owned()),
                };
                Place::Kubectl {
                    namespace: namespace.map(name).transpose()?,
                    pod: name(pod)?,
                    container: container.map(name).transpose()?,
                }
            }
            (user, _) => Place::Ssh {
                user,
                host: name(host)?,
            },
        };
        Ok(End { place, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, &'static str, Option<u16>) {
        let end: End = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        (end.place.to_string(), end.place.by(), end.port)
    }

    #[test]
    fn ends_are_called_as_ssh_docker_and_kubectl_call_them() {
        for (text, name, by, port) in [
            ("db1", "db1", "ssh", None),
            (
                "root@db1.example.com:2049",
                "root@db1.example.com",
                "ssh",
                Some(2_049),
            ),
            ("local", "local", "local", None),
            ("local:5432", "local", "local", Some(5_432)),
            ("2001:db8::1", "2001:db8::1", "ssh", None),
            ("a@[2001:db8::1]:1521", "a@2001:db8::1", "ssh", Some(1_521)),
            ("docker:web", "docker:web", "docker", None),
            ("docker:web:5432", "docker:web", "docker", Some(5_432)),
            ("docker:2049", "docker", "ssh", Some(2_049)),
            ("kubectl:pg-0", "kubectl:pg-0", "kubectl", None),
            (
                "kubectl:prod/pg-0/shot:5432",
                "kubectl:prod/pg-0/shot",
                "kubectl",
                Some(5_432),
            ),
        ] {
            assert_eq!(read(text), (name.to_owned(), by, port), "{text}");
        }
    }

    #[test]
    fn what_a_program_would_take_for_more_than_a_name_is_refused() {
        for text in [
            "",
            "@db1",
            "-oProxyCommand=id",
            "a@-b",
            "db1:",
            "db1:0",
            "db1:65536",
            "db1:http",
            "a b",
            "a;b",
            "$(id)",
            "[::1]x",
            "docker:",
            "docker:-v",
            "kubectl:a/b/c/d",
            "kubectl:-n",
            "x\u{1b}y",
            "a\nb",
        ] {
            assert!(text.parse::<End>().is_err(), "{text}");
        }
    }
}
