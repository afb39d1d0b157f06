//! Control groups (cgroup v2) of programs, below a folder that the system has delegated to this process.
//!
//! Limits of a group count for all processes of a program together, where limits of processes count for each of them alone; and a group
//! is ended as a whole, wherever its processes went.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, getpid, test_kill_process};

use crate::Limits;
use crate::limits::PROCESSES_MAX;

/// The group of this process itself: a group that hands controllers to its children has no processes.
const SUPERVISOR: &str = "regatta-supervisor";
/// Begins the names of programs' groups: `regatta-program-PID-NUMBER`.
const PROGRAM: &str = "regatta-program-";
/// Controllers that limit a program.
const WANTED: [&str; 3] = ["memory", "pids", "cpu"];
/// Attributes by which systemd says that a group is delegated.
const DELEGATED: [&str; 2] = ["user.delegate", "trusted.delegate"];
/// Microseconds of a period of the processor's limit.
const PERIOD_US: u64 = 100_000;
const BYTES_A_MB: u64 = 1 << 20;
/// Number of waits for the end of a killed group, and the milliseconds of each.
const ROUNDS_MAX: usize = 100;
const ROUND_MS: i64 = 20;

/// The folder below which this process makes groups.
#[derive(Debug)]
pub struct Cgroups {
    parent: PathBuf,
    controllers: Vec<&'static str>,
    made: AtomicU64,
}

impl Cgroups {
    /// The folder that this process was given, found and prepared once; `None` where there is none. This process moves into a group of its
    /// own for that, and groups that an earlier process left there are ended.
    pub fn delegated() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Cgroups>> = OnceLock::new();
        FOUND.get_or_init(Self::find).as_ref()
    }

    fn find() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let place = place(&mounts, &own)?;
        let base = base(&place, is_delegated)?;
        let available = fs::read_to_string(base.join("cgroup.controllers")).ok()?;
        if !WANTED.iter().any(|wanted| available.split_whitespace().any(|known| known == *wanted)) {
            // Those of the first version have them.
            return None;
        }
        match Self::prepare(&base) {
            Ok(found) => {
                tracing::info!(folder = %base.display(), controllers = ?found.controllers, "programs get control groups of their own");
                Some(found)
            }
            Err(error) => {
                tracing::warn!(%error, folder = %base.display(), "failed to use the control group that this process was given");
                None
            }
        }
    }

    /// Moves this process below `base`, and hands what controllers there are to the groups to come.
    fn prepare(base: &Path) -> io::Result<Self> {
        let available = fs::read_to_string(base.join("cgroup.controllers"))?;
        let supervisor = base.join(SUPERVISOR);
        if !supervisor.is_dir() {
            fs::create_dir(&supervisor)?;
        }
        fs::write(supervisor.join("cgroup.procs"), getpid().as_raw_nonzero().to_string())?;
        let mut controllers = Vec::new();
        for controller in WANTED {
            let is_there = available.split_whitespace().any(|known| known == controller);
            match is_there.then(|| fs::write(base.join("cgroup.subtree_control"), format!("+{controller}"))) {
                Some(Ok(())) => controllers.push(controller),
                Some(Err(error)) => {
                    tracing::warn!(%error, controller, folder = %base.display(), "failed to hand a controller to the groups of programs");
                }
                None => {
                    tracing::warn!(controller, folder = %base.display(), "a controller is missing: the groups of programs do not limit it");
                }
            }
        }
        let found = Self { parent: base.to_owned(), controllers, made: AtomicU64::new(0) };
        found.end_leftovers();
        Ok(found)
    }

    /// Ends groups of processes that are no more.
    fn end_leftovers(&self) {
        let Ok(entries) = fs::read_dir(&self.parent) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let owner = name.to_str().and_then(|name| name.strip_prefix(PROGRAM)?.split('-').next()?.parse().ok());
            if let Some(owner) = owner.and_then(Pid::from_raw)
                && test_kill_process(owner).is_err()
            {
                tracing::warn!(group = %entry.path().display(), "ending what a process that is gone has left behind");
                end(&entry.path());
            }
        }
    }

    /// A group with `limits` that nobody is in yet.
    ///
    /// # Errors
    /// In words, when it cannot be made, or does not take a limit.
    pub fn make(&self, limits: &Limits) -> Result<Cgroup, String> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let path = self.parent.join(format!("{PROGRAM}{}-{number}", getpid().as_raw_nonzero()));
        fs::create_dir(&path).map_err(|error| failed("make", &path, &error))?;
        // Removed again when a limit is refused.
        let group = Cgroup { path };
        for (file, value) in limits_of(limits, &self.controllers) {
            let file = group.path.join(file);
            match fs::write(&file, value) {
                // A kernel without swap has no such file.
                Err(_) if file.ends_with("memory.swap.max") && !file.exists() => {}
                Err(error) => return Err(failed("limit", &file, &error)),
                Ok(()) => {}
            }
        }
        Ok(group)
    }
}

/// Control group of one program, which ends with it.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// The file that a process writes 0 to, to be in the group from then on with all that it starts.
    #[must_use]
    pub fn entrance(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    /// The file that ends the whole group when 1 is written to it.
    #[must_use]
    pub fn kill_file(&self) -> PathBuf {
        self.path.join("cgroup.kill")
    }

    /// Processes that the kernel has ended because the group had used up its memory.
    #[must_use]
    pub fn killed_for_memory(&self) -> u64 {
        let events = fs::read_to_string(self.path.join("memory.events")).unwrap_or_default();
        count_of(&events, "oom_kill")
    }

    /// Ends all that is in it, and removes it.
    pub fn end(&self) {
        end(&self.path);
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends a group and removes it, waiting until the kernel has taken its last process out.
fn end(group: &Path) {
    for _ in 0..ROUNDS_MAX {
        // What was forked while it was killed is killed with the next round. A group that is gone is no error.
        let _ = fs::write(group.join("cgroup.kill"), "1");
        match fs::remove_dir(group) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) => wait_for_change(group),
        }
    }
    tracing::warn!(group = %group.display(), "a program's control group was still there after it had been ended");
}

/// Returns when something about the group has changed, or after a while.
fn wait_for_change(group: &Path) {
    let Ok(mut events) = fs::File::open(group.join("cgroup.events")) else { return };
    // A change is one since the file was last read.
    let _ = events.read_to_string(&mut String::new());
    let mut watched = [PollFd::new(&events, PollFlags::PRI)];
    let a_while = Timespec { tv_sec: 0, tv_nsec: ROUND_MS * 1_000_000 };
    // However it ended, the group is looked at again.
    let _ = poll(&mut watched, Some(&a_while));
}

fn failed(what: &str, path: &Path, error: &io::Error) -> String {
    format!("failed to {what} the control group {}: {error}", path.display())
}

/// Files of a group and their values, of the controllers that there are.
fn limits_of(limits: &Limits, controllers: &[&str]) -> Vec<(&'static str, String)> {
    let mut files = Vec::new();
    if controllers.contains(&"memory") {
        files.push(("memory.max", (u64::from(limits.memory_mb) * BYTES_A_MB).to_string()));
        files.push(("memory.swap.max", "0".to_owned()));
        // A program of which one process is gone is no program any more.
        files.push(("memory.oom.group", "1".to_owned()));
    }
    if controllers.contains(&"pids") {
        files.push(("pids.max", limits.processes.unwrap_or(PROCESSES_MAX).to_string()));
    }
    if controllers.contains(&"cpu")
        && let Some(cpus) = limits.cpus
    {
        files.push(("cpu.max", format!("{} {PERIOD_US}", cpus.of_period_us(PERIOD_US))));
    }
    files
}

/// The value of `name` in a file of lines `NAME VALUE`.
fn count_of(events: &str, name: &str) -> u64 {
    let value = events.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or(0)
}

/// Folders of a process's own group, and of the root of its hierarchy.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    root: PathBuf,
    own: PathBuf,
}

/// The group of the process whose `/proc/self/mountinfo` and `/proc/self/cgroup` these are.
fn place(mounts: &str, own: &str) -> Option<Place> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mount = mounts.lines().find_map(|line| {
        let (fields, kind) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(3);
        let (top, mounted) = (fields.next()?, fields.next()?);
        kind.starts_with("cgroup2 ").then_some((top, mounted))
    });
    let (top, mounted) = mount?;
    // What is mounted may begin below the hierarchy's own root.
    let below = Path::new(path).strip_prefix(top).ok()?;
    let root = PathBuf::from(mounted);
    Some(Place { own: root.join(below), root })
}

/// The folder for groups: that of this process, or the one above it, where that is delegated and this process was put into a group below.
/// The root of a namespace is its container's own.
fn base(place: &Place, is_delegated: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let parent = place.own.parent().filter(|parent| parent.starts_with(&place.root));
    let marked = [Some(place.own.as_path()), parent].into_iter().flatten().find(|folder| is_delegated(folder));
    marked.or_else(|| (place.own == place.root).then_some(place.root.as_path())).map(Path::to_owned)
}

fn is_delegated(folder: &Path) -> bool {
    let says_so = |name: &&str| {
        let mut value = [0; 8];
        rustix::fs::getxattr(folder, *name, &mut value).is_ok_and(|length| value[..length] == *b"1")
    };
    DELEGATED.iter().any(says_so)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str =
        "24 1 0:22 / /sys rw,nosuid - sysfs sysfs rw\n30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
    const HYBRID: &str = "30 24 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n31 24 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    /// A folder with the files of a delegated group.
    fn delegated(controllers: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cgroup.controllers"), controllers).unwrap();
        folder
    }

    fn read(path: PathBuf) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn the_group_of_a_process_is_found_where_its_hierarchy_is_mounted() {
        let service = place(V2, "0::/system.slice/regatta.service\n").unwrap();
        assert_eq!(service.own, Path::new("/sys/fs/cgroup/system.slice/regatta.service"));
        let hybrid = place(HYBRID, "8:pids:/x\n0::/\n").unwrap();
        assert_eq!((hybrid.own, hybrid.root), ("/sys/fs/cgroup/unified".into(), "/sys/fs/cgroup/unified".into()));
        assert_eq!(place(V2, "8:pids:/\n"), None, "a process of the first version alone");
        assert_eq!(place("30 24 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", "0::/\n"), None);
    }

    #[test]
    fn only_what_the_system_has_delegated_is_used() {
        let service = place(V2, "0::/system.slice/regatta.service/main\n").unwrap();
        let (own, parent) = (service.own.clone(), service.own.parent().unwrap().to_owned());
        assert_eq!(base(&service, |_| false), None);
        assert_eq!(base(&service, |folder| folder == parent), Some(parent));
        assert_eq!(base(&service, |folder| folder == own), Some(own));
        let container = place(V2, "0::/\n").unwrap();
        assert_eq!(base(&container, |_| false), Some("/sys/fs/cgroup".into()));
    }

    #[test]
    fn this_process_moves_aside_and_hands_on_the_controllers_that_there_are() {
        let folder = delegated("cpuset cpu memory\n");
        let found = Cgroups::prepare(folder.path()).unwrap();
        assert_eq!(found.controllers, ["memory", "cpu"]);
        let moved = read(folder.path().join(SUPERVISOR).join("cgroup.procs"));
        assert_eq!(moved, std::process::id().to_string());
        assert_eq!(read(folder.path().join("cgroup.subtree_control")), "+cpu", "the last of them");
    }

    #[test]
    fn a_programs_group_has_its_limits() {
        let folder = delegated("cpu memory pids");
        let limits: Limits = serde_json::from_str(r#"{"memory_mb": 512, "processes": 64, "cpus": 1.5}"#).unwrap();
        let group = Cgroups::prepare(folder.path()).unwrap().make(&limits).unwrap();
        let file = |name: &str| read(group.path.join(name));
        assert_eq!(file("memory.max"), (512_u64 << 20).to_string());
        assert_eq!((&*file("memory.swap.max"), &*file("memory.oom.group")), ("0", "1"));
        assert_eq!((&*file("pids.max"), &*file("cpu.max")), ("64", "150000 100000"));
        // Plain files, unlike those of a group, keep their folder.
        fs::remove_dir_all(&group.path).unwrap();
    }

    #[test]
    fn without_a_controller_its_limits_are_not_written() {
        assert_eq!(limits_of(&Limits::default(), &[]), []);
        assert_eq!(limits_of(&Limits::default(), &["pids", "cpu"]), [("pids.max", PROCESSES_MAX.to_string())]);
    }

    /// Groups of the real hierarchy without limits; `None`, and a sentence, where this process may make none.
    fn real(test: &str) -> Option<(Cgroups, PathBuf)> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let folder =
            place(&mounts, &own).map(|place| place.own.join(format!("regatta-test-{}-{test}", std::process::id())));
        match folder.filter(|folder| fs::create_dir(folder).is_ok()) {
            Some(folder) if folder.join("cgroup.kill").exists() => {
                let parent = folder.clone();
                Some((Cgroups { parent, controllers: Vec::new(), made: AtomicU64::new(0) }, folder))
            }
            _ => {
                println!("skipped: this system lets this process make no control groups");
                None
            }
        }
    }

    #[test]
    fn all_that_a_program_starts_is_in_its_group_and_ends_with_it() {
        let Some((groups, folder)) = real("program") else { return };
        let is_root = rustix::process::geteuid().is_root();
        let account = is_root.then_some(crate::Account { uid: 65534, gid: 65534 });
        for namespaces in [crate::Namespaces::Shared, crate::Namespaces::available(account)] {
            let group = groups.make(&Limits::default()).unwrap();
            let script = "id -u; setsid env -i /bin/sleep 1000 >/dev/null 2>&1 & cat /proc/self/cgroup; read -r line";
            let command = ["/bin/sh", "-c", script].map(str::to_owned);
            let variables = std::collections::BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]);
            let limits = Limits::default();
            let cgroup = Some(&group);
            let launch = crate::Launch { command: &command, variables, limits, account, namespaces, cgroup };
            let mut command = launch.command().unwrap();
            let pipe = std::process::Stdio::piped;
            let mut program = command.stdin(pipe()).stdout(pipe()).spawn().unwrap();
            let mut lines = io::BufRead::lines(io::BufReader::new(program.stdout.take().unwrap())).map(Result::unwrap);
            let first = lines.next().unwrap();
            let uid = account.map_or_else(|| rustix::process::getuid().as_raw(), |account| account.uid);
            assert_eq!(first, uid.to_string());
            let name = group.path.file_name().unwrap().to_str().unwrap().to_owned();
            let own = lines.find(|line| line.starts_with("0::")).unwrap();
            assert!(own.ends_with(&name), "{own} is not in {name}");
            group.end();
            assert!(!group.path.exists());
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&program.wait().unwrap()), Some(9));
        }
        fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn what_a_process_that_is_gone_has_left_is_ended() {
        let Some((groups, folder)) = real("leftover") else { return };
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        let left = folder.join(format!("{PROGRAM}{}-0", gone.id()));
        gone.wait().unwrap();
        fs::create_dir(&left).unwrap();
        let mut sleeper = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        fs::write(left.join("cgroup.procs"), sleeper.id().to_string()).unwrap();
        let own = groups.make(&Limits::default()).unwrap();
        groups.end_leftovers();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&sleeper.wait().unwrap()), Some(9));
        assert!(!left.exists() && own.path.exists());
        drop(own);
        fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn what_was_killed_for_memory_is_counted() {
        assert_eq!(count_of("low 0\noom 3\noom_kill 2\noom_group_kill 1\n", "oom_kill"), 2);
        assert_eq!(count_of("", "oom_kill"), 0);
    }
}
