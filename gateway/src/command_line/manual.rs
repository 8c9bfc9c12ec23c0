//! `ringside manual`: the manual page, of the descriptions that help has too and of the table of settings.

use clap_mangen::Man;
use ringside_config::{Config, SETTINGS};
use std::fmt::Write;
use std::io;

/// What a process ends with.
const EXIT_CODES: &str = "0: done; for `verify`, sound. 1: it could not be done; for `verify`, damaged. 2: the settings or \
    arguments are wrong; for `verify`, there is no journal. 70: the journal failed while running: everything acknowledged \
    is safe, nothing more was; look with `ringside verify` before starting again.";

/// The page, as `man -l -` takes it.
pub(super) fn page(mut command: clap::Command) -> io::Result<String> {
    let mut head = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut head)?;
    man.render_name_section(&mut head)?;
    man.render_synopsis_section(&mut head)?;
    man.render_description_section(&mut head)?;
    man.render_options_section(&mut head)?;
    let mut page = String::from_utf8_lossy(&head).into_owned();
    // Writing into a string cannot fail.
    page += ".SH SUBCOMMANDS\n";
    command.build();
    for action in command.get_subcommands_mut().filter(|action| action.get_name() != "help") {
        let help = plain(&action.render_help().to_string());
        let _ = writeln!(page, ".SS {}\n.nf\n{help}.fi", action.get_name());
    }
    page += ".SH SETTINGS\nIn the file as below, in the environment in capitals behind RINGSIDE_.\n";
    for setting in SETTINGS {
        let _ = write!(page, ".TP\n\\fB{}\\fR\n{}", setting.key, plain(setting.doc));
    }
    let _ = writeln!(page, ".SH DEFAULTS\n.nf\n{}.fi", plain(&Config::default().summary()));
    let _ = writeln!(page, ".SH EXIT STATUS\n{}", plain(EXIT_CODES));
    Ok(page)
}

/// Text that no line of is taken for an instruction.
fn plain(text: &str) -> String {
    let mut escaped = String::new();
    for line in text.lines() {
        let line = line.trim_end().replace('\\', "\\e").replace('-', "\\-");
        let line = if line.starts_with(' ') && !line.starts_with("  ") { line.trim_start() } else { &line };
        let _ = writeln!(escaped, "\\&{line}");
    }
    escaped
}
