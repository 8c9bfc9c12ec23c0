//! The three processes: made members, started, killed, stopped, asked.

use super::HOSTS;
use super::relay::Relays;
use anyhow::{Context, Result, bail, ensure};
use ringside_bench::address::own_address;
use ringside_load::api;
use ringside_load::connection::Connection;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Longest wait for whatever three processes have to come to by themselves.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is asked.
const LOOK: Duration = Duration::from_millis(5);
const ADMIN_KEY: &str = "administrator-of-three-processes";

/// The processes, with a folder each; killed when this is dropped.
pub struct Hosts {
    program: PathBuf,
    folder: PathBuf,
    data: [PathBuf; HOSTS],
    settings: Vec<(String, String)>,
    members: [String; HOSTS],
    listen: [SocketAddr; HOSTS],
    cluster: String,
    children: [Option<Child>; HOSTS],
    /// How far each log was read, and who said in them that it leads in which term.
    heard: [u64; HOSTS],
    terms: BTreeMap<u64, usize>,
    /// Where each answers clients.
    pub addresses: [SocketAddr; HOSTS],
    /// Between them, where they are to be cut off from each other.
    relays: Option<Relays>,
    /// How often each was started.
    pub lives: Rc<[Cell<u32>; HOSTS]>,
}

impl Hosts {
    /// Makes three members below `folder`; their data lies in `data`. `is_relayed`: connections between them go through relays of this
    /// process.
    pub fn make(
        program: &Path,
        folder: &Path,
        data: [PathBuf; HOSTS],
        settings: Vec<(String, String)>,
        is_relayed: bool,
    ) -> Result<Hosts> {
        let addresses = std::array::from_fn(|_| own_address());
        let listen = std::array::from_fn(|_| own_address());
        let mut hosts = Hosts {
            program: program.to_owned(),
            folder: folder.to_owned(),
            data,
            settings,
            members: Default::default(),
            listen,
            cluster: String::new(),
            children: [const { None }; HOSTS],
            heard: [0; HOSTS],
            terms: BTreeMap::new(),
            addresses,
            relays: if is_relayed { Some(Relays::start(listen)?) } else { None },
            lives: Rc::default(),
        };
        let mut keys = Vec::new();
        for host in 0..HOSTS {
            std::fs::create_dir_all(&hosts.data[host])?;
            keys.push(said(hosts.command(host).arg("mirror-key"))?.trim().to_owned());
        }
        for host in 0..HOSTS {
            let reached = hosts.relays.as_ref().map_or(listen, |relays| relays.addresses[host]);
            let members = (0..HOSTS).map(|to| format!("{}@{}={}", to + 1, reached[to], keys[to]));
            hosts.members[host] = members.collect::<Vec<_>>().join(",");
        }
        for host in 0..HOSTS {
            hosts.init(host)?;
        }
        Ok(hosts)
    }

    /// Between them.
    pub fn relays(&self) -> &Relays {
        self.relays.as_ref().expect("they were made to be cut off from each other")
    }

    /// `cluster init`, as the runbook has it.
    fn init(&mut self, host: usize) -> Result<()> {
        let mut command = self.command(host);
        command.args(["cluster", "init"]);
        if !self.cluster.is_empty() {
            command.args(["--cluster", &self.cluster]);
        }
        let said = said(&mut command)?;
        let (_, id) = said.split_once("of cluster ").context("it says no id")?;
        if self.cluster.is_empty() {
            self.cluster = id.chars().take(32).collect();
        }
        Ok(())
    }

    fn command(&self, host: usize) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("RINGSIDE_") {
                command.env_remove(name);
            }
        }
        let own = [
            ("data_dir", self.data[host].display().to_string()),
            ("listen", self.addresses[host].to_string()),
            ("admin_key", ADMIN_KEY.to_owned()),
            // Whoever leads knows what the one before let in.
            ("jwt_secret", "a-secret-that-all-three-hosts-of-the-rounds-share".to_owned()),
            ("key_encryption_key", "11".repeat(32)),
            ("test_accounts", "0".to_owned()),
            ("any_file_system", "true".to_owned()),
            ("flush_shed", "30s".to_owned()),
            ("weight_per_minute", u32::MAX.to_string()),
            ("orders_per_ten_seconds", u32::MAX.to_string()),
            ("orders_per_minute", u32::MAX.to_string()),
        ];
        // The keys are known before who the members are.
        let members = match self.members[host].is_empty() {
            true => Vec::new(),
            false => vec![
                ("cluster_member", (host + 1).to_string()),
                ("cluster_listen", self.listen[host].to_string()),
                ("cluster_members", self.members[host].clone()),
            ],
        };
        let own = own.into_iter().chain(members).map(|(key, value)| (key.to_owned(), value));
        for (key, value) in own.chain(self.settings.iter().cloned()) {
            command.env(format!("RINGSIDE_{}", key.to_ascii_uppercase()), value);
        }
        command
    }

    /// Starts it.
    pub fn start(&mut self, host: usize) -> Result<()> {
        self.lives[host].set(self.lives[host].get() + 1);
        let log = std::fs::File::options().create(true).append(true).open(self.log_path(host))?;
        let mut command = self.command(host);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.children[host] = Some(command.spawn().context("cannot start a member")?);
        Ok(())
    }

    /// Kills it as `kill -9` does, also one that is stopped.
    pub fn kill(&mut self, host: usize) -> Result<()> {
        if let Some(mut child) = self.children[host].take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Stops or continues it (`-STOP`, `-CONT`).
    pub fn signal(&self, host: usize, signal: &str) -> Result<()> {
        let child = self.children[host].as_ref().context("it does not run")?;
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status()?;
        ensure!(sent.success(), "kill {signal} failed");
        Ok(())
    }

    /// Starts those that have ended by themselves; their exit codes.
    pub fn start_ended(&mut self) -> Result<Vec<Option<i32>>> {
        let mut ended = Vec::new();
        for host in 0..HOSTS {
            let Some(child) = &mut self.children[host] else { continue };
            if let Some(status) = child.try_wait()? {
                ended.push(status.code());
                self.start(host)?;
            }
        }
        Ok(ended)
    }

    /// Waits for one to end by itself; its exit code.
    pub async fn ends(&mut self, host: usize) -> Result<Option<i32>> {
        let begun = Instant::now();
        let child = self.children[host].as_mut().context("it does not run")?;
        loop {
            if let Some(status) = child.try_wait()? {
                self.children[host] = None;
                return Ok(status.code());
            }
            ensure!(begun.elapsed() < PATIENCE, "host {} does not end", host + 1);
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What the runbook does where a disk is lost (`scripts/operations/runbook.md`, three hosts): the member that leads is stopped, what it
    /// has is copied, and the lost host is made a member again. A copy of everything acknowledged, so its number may vote again.
    ///
    /// This is the place of `ringside cluster replace`, which takes no stop.
    pub async fn replace_lost_disk(&mut self, lost: usize) -> Result<()> {
        let leader = self.leader().await?;
        ensure!(leader != lost, "what has no disk leads");
        self.kill(leader)?;
        for folder in ["journal", "archive"] {
            copy_folder(&self.data[leader].join(folder), &self.data[lost].join(folder))?;
        }
        std::fs::remove_file(self.data[lost].join("journal/member")).context("the copy names no member")?;
        self.init(lost)?;
        self.start(leader)?;
        self.start(lost)
    }

    /// Takes journal and archive away, as a disk that is lost does.
    pub fn lose_disk(&self, host: usize) -> Result<()> {
        for folder in ["journal", "archive"] {
            let path = self.data[host].join(folder);
            // What runs there may be making something in it.
            let begun = Instant::now();
            while path.exists() {
                if let Err(error) = std::fs::remove_dir_all(&path) {
                    ensure!(begun.elapsed() < PATIENCE, "{}: {error}", path.display());
                }
            }
        }
        Ok(())
    }

    /// Its data.
    pub fn data(&self, host: usize) -> &Path {
        &self.data[host]
    }

    /// The exchange.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The administrator's key.
    pub fn admin_key(&self) -> &'static str {
        ADMIN_KEY
    }

    /// The one that leads, once there is one.
    pub async fn leader(&self) -> Result<usize> {
        let begun = Instant::now();
        loop {
            for host in 0..HOSTS {
                if self.status(host, "/leaderz").await == Some(200) {
                    return Ok(host);
                }
            }
            ensure!(begun.elapsed() < PATIENCE, "nobody leads");
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn status(&self, host: usize, path: &str) -> Option<u16> {
        let asked = async {
            let mut connection = Connection::open(self.addresses[host]).await.ok()?;
            let request = api::request_at("GET", path, "", None);
            connection.call(&request).await.ok().map(|answer| answer.status)
        };
        tokio::time::timeout(Duration::from_millis(500), asked).await.ok().flatten()
    }

    /// The last command that is agreed on, for all that it knows.
    pub async fn sequence(&self, host: usize) -> Option<u64> {
        let [sequence] = figures(self.addresses[host], ["ringside_journal_durable_sequence"]).await?;
        Some(sequence)
    }

    /// Waits until all three have everything through a command that is agreed on; which that is.
    pub async fn all_caught_up(&self) -> Result<u64> {
        let begun = Instant::now();
        let mut through = None;
        loop {
            let leader = self.leader().await?;
            through = through.max(self.sequence(leader).await);
            let mut behind = Vec::new();
            for host in 0..HOSTS {
                let sequence = self.sequence(host).await;
                if through.is_none() || sequence < through {
                    behind.push((host + 1, sequence));
                }
            }
            if let Some(through) = through.filter(|_| behind.is_empty()) {
                return Ok(through);
            }
            ensure!(begun.elapsed() < PATIENCE, "not all come to {through:?}, these are at {behind:?}");
            tokio::time::sleep(LOOK * 4).await;
        }
    }

    /// Waits until nobody has a command on its way: one whose client was told that its outcome is unknown may take effect until then.
    pub async fn quiet(&self) -> Result<()> {
        let begun = Instant::now();
        for address in self.addresses {
            while commands_on_their_way(address).await != Some(0) {
                ensure!(begun.elapsed() < PATIENCE, "{address} has commands on their way");
                tokio::time::sleep(LOOK).await;
            }
        }
        Ok(())
    }

    /// Who has said that it leads in which term.
    ///
    /// Errors: two did in one.
    pub fn terms(&mut self) -> Result<&BTreeMap<u64, usize>> {
        for host in 0..HOSTS {
            // A log may be long: from where it was last read on, and whole lines.
            let mut log = std::fs::File::open(self.log_path(host))?;
            log.seek(SeekFrom::Start(self.heard[host]))?;
            let mut lines = BufReader::new(log);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
                self.heard[host] += line.len() as u64;
                let said = String::from_utf8_lossy(&line);
                let term = said.split_once(" leads in term ").and_then(|(_, term)| term.trim().parse().ok());
                if let Some(term) = term
                    && let Some(before) = self.terms.insert(term, host).filter(|before| *before != host)
                {
                    bail!("two led in term {term}: members {} and {}", before + 1, host + 1);
                }
                line.clear();
            }
        }
        Ok(&self.terms)
    }

    fn log_path(&self, host: usize) -> PathBuf {
        self.folder.join(format!("log-{}", host + 1))
    }

    /// The last lines that each has printed.
    pub fn log_tails(&self) -> String {
        let tail = |host: usize| {
            let log = end_of(&self.log_path(host)).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            format!("== member {}\n{}", host + 1, lines[lines.len().saturating_sub(12)..].join("\n"))
        };
        (0..HOSTS).map(tail).collect::<Vec<_>>().join("\n")
    }

    /// Of every segment its name and bytes. It does not run.
    pub fn segments(&self, host: usize) -> Result<BTreeMap<String, Vec<u8>>> {
        let mut segments = BTreeMap::new();
        for entry in std::fs::read_dir(self.data[host].join("journal"))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".journal") {
                segments.insert(name, std::fs::read(entry.path())?);
            }
        }
        Ok(segments)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for child in self.children.iter_mut().flatten() {
            // It may have ended already; nothing else can be done about a failure here.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Numbers of a host's page of figures; nothing where it does not answer, or not with all of them.
pub async fn figures<const N: usize>(address: SocketAddr, names: [&str; N]) -> Option<[u64; N]> {
    let page = page(address).await?;
    let number =
        |name: &str| page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    let numbers = names.map(number);
    numbers.iter().all(Option::is_some).then(|| numbers.map(Option::unwrap_or_default))
}

/// Commands of all workers that were handed over and have no answer.
async fn commands_on_their_way(address: SocketAddr) -> Option<u64> {
    let page = page(address).await?;
    let of =
        |line: &str| line.strip_prefix("ringside_queue_commands{")?.rsplit(' ').next()?.parse::<u64>().ok();
    Some(page.lines().filter_map(of).sum())
}

async fn page(address: SocketAddr) -> Option<String> {
    let asked = async {
        let mut connection = Connection::open(address).await.ok()?;
        let request = api::request_at("GET", "/metrics", &api::key_header(ADMIN_KEY), None);
        let answer = connection.call(&request).await.ok()?;
        Some(std::str::from_utf8(answer.body).ok()?.to_owned())
    };
    tokio::time::timeout(Duration::from_millis(500), asked).await.ok().flatten()
}

/// What a command that must succeed says.
fn said(command: &mut Command) -> Result<String> {
    let output =
        command.output().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    Ok(said)
}

/// The last of a file that may be long.
fn end_of(path: &Path) -> Result<String> {
    const LEN: u64 = 16 << 10;
    let mut file = std::fs::File::open(path)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(LEN)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to.join(entry.file_name()))?;
        } else {
            std::fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
