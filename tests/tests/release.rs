//! A release, made by the scripts that make one. The binary is a stand-in: a program that says what it is asked.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;

use regatta_tests::regatta::{finish, skipped, workspace};
use serde_yaml_ng::Value;
use tokio::process::Command;

/// Runs a script of the checkout with these arguments.
async fn script(name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(workspace().join("scripts").join(name));
    command.args(arguments).envs(variables.iter().copied()).current_dir(workspace());
    finish(command).await.unwrap()
}

/// Standard output of a script, which must have succeeded.
fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Standard output of a program, which must succeed; `None` where the program is not here.
async fn told_by(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().await.ok()?;
    Some(said(&output))
}

/// Path of `folder`/`name` as text.
fn at(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A release in `folder`; `None`, with a sentence, where its tools are not.
async fn release(folder: &Path) -> Option<PathBuf> {
    for tool in ["python3", "strip", "dpkg-shlibdeps"] {
        if Command::new(tool).arg("--version").output().await.is_err() {
            skipped("a release", &format!("there is no {tool}; `apt-get install python3 binutils dpkg-dev` brings it"));
            return None;
        }
    }
    said(&script("release", &["--binary", "/bin/echo", folder.to_str().unwrap()], &[]).await);
    Some(folder.to_owned())
}

#[tokio::test]
async fn a_release_has_archive_wheel_package_and_bill_of_materials_and_the_same_sources_make_the_same() {
    let place = tempfile::tempdir().unwrap();
    let Some(dist) = release(&place.path().join("dist")).await else { return };
    let version = said(&script("version", &[], &[]).await).trim().to_owned();
    let machine = std::env::consts::ARCH;
    let (archive, wheel) =
        (format!("regatta-{version}-linux-{machine}"), format!("regatta_eval-{version}-py3-none-manylinux_2_"));
    let found = names(&dist);
    assert_eq!(found.len(), 5, "{found:?}");
    assert!(
        found.contains(&format!("{archive}.tar.gz")) && found.contains(&format!("{archive}.cdx.json")),
        "{found:?}"
    );
    assert!(
        found.iter().any(|name| name.starts_with(&wheel) && name.ends_with(&format!("_{machine}.whl"))),
        "{found:?}"
    );

    let packed = told_by("tar", &["-tzf", &at(&dist, &format!("{archive}.tar.gz"))]).await.unwrap();
    for file in ["regatta", "LICENSE", "README.md", "examples/quickstart.yaml"] {
        assert!(packed.lines().any(|line| line == format!("{archive}/{file}")), "{file} is not in {packed}");
    }
    let package = found.iter().find(|name| Path::new(name).extension().is_some_and(|end| end == "deb")).unwrap();
    let control = told_by("dpkg-deb", &["--field", &at(&dist, package)]).await.unwrap();
    assert!(
        control.contains(&format!("Version: {version}\n")) && control.contains("Depends: libc6 (>= 2."),
        "{control}"
    );
    let unpacked = place.path().join("root");
    told_by("dpkg-deb", &["--extract", &at(&dist, package), unpacked.to_str().unwrap()]).await.unwrap();
    let completions = unpacked.join("usr/share/bash-completion/completions/regatta");
    assert_eq!(std::fs::read_to_string(completions).unwrap(), "completions bash\n", "what the binary says");
    let command = told_by(&at(&unpacked, "usr/bin/regatta"), &["it", "runs"]).await;
    assert_eq!(command.as_deref(), Some("it runs\n"));

    let again = release(&place.path().join("again")).await.unwrap();
    let sums = |folder: &Path| std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    assert_eq!(sums(&again), sums(&dist));
    assert_eq!(sums(&dist).lines().count(), 4, "of all but itself");
    let refused = script("release", &["--binary", "/bin/echo", dist.to_str().unwrap()], &[]).await;
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is not empty"));
}

#[tokio::test]
async fn parts_are_gathered_with_their_sums_and_signed() {
    let place = tempfile::tempdir().unwrap();
    let parts = place.path().join("parts");
    for part in ["amd64", "arm64"] {
        std::fs::create_dir_all(parts.join(part)).unwrap();
        std::fs::write(parts.join(part).join(format!("of-{part}")), part).unwrap();
        let sum = told_by("sha256sum", &[&at(&parts.join(part), &format!("of-{part}"))]).await.unwrap();
        let sum = sum.split_once(' ').unwrap().0;
        std::fs::write(parts.join(part).join("SHA256SUMS"), format!("{sum}  of-{part}\n")).unwrap();
    }
    let (from, dist) = (parts.to_str().unwrap(), place.path().join("dist"));
    let to = dist.to_str().unwrap();
    assert_eq!(said(&script("gather", &[from, to], &[]).await).lines().count(), 2);
    assert_eq!(names(&dist), ["SHA256SUMS", "of-amd64", "of-arm64"].map(str::to_owned).into());

    std::fs::write(parts.join("arm64/of-arm64"), "another").unwrap();
    let refused = script("gather", &[from, &at(place.path(), "refused")], &[]).await;
    assert!(!refused.status.success(), "a part that does not have its sum");

    let unsigned = script("sign", &[to], &[("REGATTA_SIGNING_KEY", "")]).await;
    assert!(String::from_utf8_lossy(&unsigned.stderr).contains("REGATTA_SIGNING_KEY has no private key"));
    let home = at(place.path(), "gpg");
    std::fs::create_dir(&home).unwrap();
    let gpg = async |arguments: &[&str]| {
        let mut all = vec!["--homedir", &home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""];
        all.extend(arguments);
        told_by("gpg", &all).await
    };
    if gpg(&["--quick-generate-key", "releases@example.com", "ed25519", "sign", "never"]).await.is_none() {
        skipped("a signature", "there is no gpg; `apt-get install gpg` brings it");
        return;
    }
    let key = gpg(&["--armor", "--export-secret-keys"]).await.unwrap();
    said(&script("sign", &[to], &[("REGATTA_SIGNING_KEY", &key)]).await);
    gpg(&["--verify", &at(&dist, "SHA256SUMS.asc"), &at(&dist, "SHA256SUMS")]).await.unwrap();
}

#[tokio::test]
async fn a_tag_of_another_version_is_refused() {
    let version = said(&script("version", &[], &[]).await).trim().to_owned();
    assert!(!said(&script("version", &["--notes"], &[]).await).trim().is_empty());
    let refused = script("version", &["v99.0.0"], &[]).await;
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(why, format!("version: the tag is v99.0.0, and Cargo.toml says {version}: it must be v{version}\n"));
}

/// Commands of a workflow that are none of its scripts: tools of whoever hosts it.
const HOSTED: [&str; 6] = ["rustup", "cargo", "git", "apt-get", "gh", "mkdir"];

#[test]
fn workflows_run_scripts_that_are_there() {
    let folder = workspace().join(".github/workflows");
    let mut scripts = BTreeSet::new();
    for name in names(&folder) {
        let workflow: Value = serde_yaml_ng::from_str(&std::fs::read_to_string(folder.join(&name)).unwrap()).unwrap();
        let jobs = workflow["jobs"].as_mapping().unwrap();
        let steps = jobs.values().filter_map(|job| job["steps"].as_sequence()).flatten();
        for command in steps.filter_map(|step| step["run"].as_str()) {
            let program = command.split(' ').next().unwrap();
            if !HOSTED.contains(&program) {
                assert!(workspace().join(program).is_file(), "{name}: there is no {program}");
                scripts.insert(program.to_owned());
            }
        }
    }
    let expected = [
        ".ci/run",
        "scripts/defects",
        "scripts/gather",
        "scripts/histories",
        "scripts/image",
        "scripts/image-check",
        "scripts/long-tests",
        "scripts/rabbitmq",
        "scripts/release",
        "scripts/sign",
        "scripts/test",
        "scripts/test-frameworks",
        "scripts/test-readers",
        "scripts/version",
        "scripts/wheel",
    ];
    assert_eq!(scripts, expected.map(str::to_owned).into());
}
