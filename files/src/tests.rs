use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use super::*;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_link_in_the_place_of_a_file_is_replaced_and_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (victim, from) = (folder.path().join("victim"), folder.path().join("from"));
    fs::write(&victim, "precious").unwrap();
    fs::write(&from, "report").unwrap();
    fs::set_permissions(&from, Permissions::from_mode(0o644)).unwrap();
    let writers: [fn(&Path, &Path) -> io::Result<()>; 3] =
        [|_, to| write(to, "report"), |_, to| write_durably(to, "report"), copy];
    for (number, writer) in writers.into_iter().enumerate() {
        let place = folder.path().join(format!("report-{number}.md"));
        symlink(&victim, &place).unwrap();
        writer(&from, &place).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(fs::read(&place).unwrap(), b"report");
        assert_eq!(mode(&place), 0o600);
    }
}

#[test]
fn a_file_that_was_open_to_others_is_closed_when_it_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("report.md");
    fs::write(&place, "old").unwrap();
    fs::set_permissions(&place, Permissions::from_mode(0o666)).unwrap();
    write(&place, "new").unwrap();
    assert_eq!((fs::read(&place).unwrap().as_slice(), mode(&place)), (b"new".as_slice(), 0o600));
}

#[test]
fn nothing_is_left_of_a_file_that_was_not_finished() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("report.md");
    fs::write(&place, "old").unwrap();
    let mut file = PrivateFile::create(&place).unwrap();
    file.write_all(b"half").unwrap();
    drop(file);
    assert_eq!(fs::read(&place).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["report.md"]);
}

#[test]
fn a_folder_in_the_place_of_a_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(write(folder.path(), "report").unwrap_err().kind(), io::ErrorKind::IsADirectory);
}

#[test]
fn a_pipe_of_the_user_is_written_to_and_one_that_others_may_have_put_there_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let make = || rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    make();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| fs::read(&pipe).unwrap());
        write(&pipe, "report").unwrap();
        assert_eq!(reader.join().unwrap(), b"report");
    });
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
    write(&pipe, "report").unwrap();
    assert!(fs::symlink_metadata(&pipe).unwrap().is_file());
}

#[test]
fn devices_of_the_system_stay_what_they_are() {
    write(Path::new("/dev/null"), "report").unwrap();
    write_durably(Path::new("/dev/null"), "report").unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    // By the link of an open file, as `/dev/stdout` is one.
    let folder = tempfile::tempdir().unwrap();
    let file = File::create(folder.path().join("out")).unwrap();
    let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    write(Path::new(&link), "report").unwrap();
    assert_eq!(fs::read(folder.path().join("out")).unwrap(), b"report");
}

#[test]
fn a_lock_is_not_taken_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (victim, link, lock) = (folder.path().join("victim"), folder.path().join("link"), folder.path().join("lock"));
    symlink(&victim, &link).unwrap();
    open_lock(&link).unwrap_err();
    assert!(!victim.exists());
    open_lock(&lock).unwrap();
    assert_eq!(mode(&lock), 0o600);
}
