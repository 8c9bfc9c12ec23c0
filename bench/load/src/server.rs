//! The exchange as a child process on a temporary data folder and a free port, its limits raised for load.

use super::connection::Connection;
use super::{api, wallet};
use anyhow::{Context, Result, bail};
use clap::Args;
use ringside_bench::address::own_address;
use ringside_bench::op::Random;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// How the server is started.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The program; `None` for `ringside` beside the running program.
    pub program: Option<PathBuf>,
    /// Folder in which the data folder is made; `None` for the system's temporary folder.
    pub folder: Option<PathBuf>,
    /// Settings by key, as in the configuration file; these win over what [`Server::start`] sets.
    pub settings: Vec<(String, String)>,
}

/// What every program that starts a server lets its caller say of it.
#[derive(Args, Clone, Debug)]
pub struct ServerArguments {
    /// The server program, if not `ringside` beside this one.
    #[arg(long)]
    server: Option<PathBuf>,
    /// A further setting of the server, key=value; may be given again.
    #[arg(long = "set")]
    settings: Vec<String>,
    /// Folder for the server's data, if not the temporary one.
    #[arg(long)]
    folder: Option<PathBuf>,
}

impl ServerArguments {
    /// A server with these settings, over which those of the caller win. Fails on one that is not key=value.
    pub fn options(&self, settings: &[(&str, &str)]) -> Result<ServerOptions> {
        let mut all: Vec<_> =
            settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        for setting in &self.settings {
            let (key, value) =
                setting.split_once('=').with_context(|| format!("`{setting}` is not key=value"))?;
            all.push((key.to_owned(), value.to_owned()));
        }
        Ok(ServerOptions { program: self.server.clone(), folder: self.folder.clone(), settings: all })
    }
}

/// A running exchange; dropped, it is killed and its data removed.
pub struct Server {
    child: Child,
    program: PathBuf,
    /// Made by us, removed by us.
    folder: PathBuf,
    settings: Vec<(String, String)>,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its administrator's key.
    pub admin_key: String,
}

#[derive(Deserialize)]
struct Health {
    engine: String,
}

/// Longest wait for a start, recovery included.
const START_TIMEOUT: Duration = Duration::from_secs(120);

impl Server {
    /// Starts it and waits until its engine runs.
    pub async fn start(options: &ServerOptions) -> Result<Server> {
        let program = match &options.program {
            Some(program) => program.clone(),
            None => std::env::current_exe()?.with_file_name("ringside"),
        };
        if !program.is_file() {
            bail!("no server program {}: build it with `cargo build --release`", program.display());
        }
        let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
        let unique = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_nanos() as u64;
        let folder = parent.join(format!("ringside-load-{}-{unique:x}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let address = own_address();
        let mut random = Random::new(unique);
        let admin_key = wallet::hex(&std::array::from_fn::<u8, 16, _>(|_| random.next_u64() as u8));
        let raised = [
            ("listen", address.to_string()),
            ("data_dir", folder.join("data").display().to_string()),
            ("admin_key", admin_key.clone()),
            ("test_accounts", "0".to_string()),
            ("weight_per_minute", u32::MAX.to_string()),
            ("orders_per_ten_seconds", u32::MAX.to_string()),
            ("orders_per_minute", u32::MAX.to_string()),
        ];
        let mut settings: Vec<(String, String)> = raised.map(|(key, value)| (key.to_string(), value)).into();
        settings.extend(options.settings.iter().cloned());
        let child = spawn(&program, &folder, &settings)?;
        let mut server = Server { child, program, folder, settings, address, admin_key };
        server.wait_until_running().await?;
        Ok(server)
    }

    /// Kills it as `kill -9` does.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Starts it again on the same data, address and settings after [`Server::kill`]; says how long recovery took.
    pub async fn restart(&mut self) -> Result<Duration> {
        let start = Instant::now();
        self.child = spawn(&self.program, &self.folder, &self.settings)?;
        self.wait_until_running().await?;
        Ok(start.elapsed())
    }

    /// Processor time it has used since its last start.
    pub fn processor_time(&self) -> Result<Duration> {
        processor_time(self.child.id())
    }

    /// Its process id.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Its data folder.
    pub fn data_folder(&self) -> PathBuf {
        self.folder.join("data")
    }

    async fn wait_until_running(&mut self) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended ({status}):\n{}", self.log_tail());
            }
            if let Ok(mut connection) = Connection::open(self.address).await {
                let request = api::request("GET", "/spot/health", "", None);
                if let Ok(health) = api::ask::<Health>(&mut connection, &request).await
                    && health.engine == "running"
                {
                    return Ok(());
                }
            }
            if Instant::now() > deadline {
                bail!("the server does not run after {START_TIMEOUT:?}:\n{}", self.log_tail());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// What it said of its last recovery: the last command, and the hash of the state there.
    ///
    /// Errors: it has said nothing of the kind.
    pub fn recovered(&self) -> Result<(u64, String)> {
        let log = std::fs::read_to_string(self.folder.join("server.log"))?;
        let said = log.lines().rev().find_map(|line| line.strip_prefix("recovery: state "));
        let (hash, sequence) =
            said.and_then(|said| said.split_once(" at sequence ")).context("no recovery was reported")?;
        Ok((sequence.trim().parse()?, hash.to_owned()))
    }

    /// Starts it again as [`Server::restart`] does, and kills it `after` that, wherever it is then.
    pub fn restart_and_kill(&mut self, after: Duration) -> Result<()> {
        self.child = spawn(&self.program, &self.folder, &self.settings)?;
        std::thread::sleep(after);
        self.kill()
    }

    /// The program that it runs.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The last lines it has printed.
    pub fn log_tail(&self) -> String {
        let log = std::fs::read_to_string(self.folder.join("server.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; nothing else can be done about a failure here.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::env::var_os("RINGSIDE_KEEP").is_none() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

fn spawn(program: &Path, folder: &Path, settings: &[(String, String)]) -> Result<Child> {
    let log = std::fs::File::options().create(true).append(true).open(folder.join("server.log"))?;
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RINGSIDE_") {
            command.env_remove(name);
        }
    }
    // A disk that others use too is slow now and then; what is asked here is something else.
    command.env("RINGSIDE_FLUSH_SHED", "30s");
    for (key, value) in settings {
        command.env(format!("RINGSIDE_{}", key.to_ascii_uppercase()), value);
    }
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))
}

/// Processor time of all threads of a process.
pub fn processor_time(process: u32) -> Result<Duration> {
    let mut total = Duration::ZERO;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread may end between listing and reading.
        if let Ok(text) = std::fs::read_to_string(thread?.path().join("schedstat")) {
            let nanoseconds = text.split(' ').next().and_then(|field| field.parse().ok()).unwrap_or(0);
            total += Duration::from_nanos(nanoseconds);
        }
    }
    Ok(total)
}
