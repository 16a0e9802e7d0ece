//! Effects under quoting, redirects, folders, conditions, loops and prefixes.

use super::{check, told};
use crate::{effects, path};

#[test]
fn redirects_write_files() {
    check(&[
        ("echo x > a.txt", &["write a.txt"]),
        ("echo x >> 'my log' 2>&1", &["write my log"]),
        ("make -n >| out.log 2> err.log", &["write out.log", "write err.log"]),
        ("cargo build &> build.log; cargo build &>> more.log", &["write build.log", "write more.log"]),
        ("ls 2>/dev/null >/dev/null; ls >&2; ls 2>&-", &[]),
        ("cat <<'EOF' > conf/a.toml\nx > not.txt\nrm y\nEOF", &["write conf/a.toml"]),
        ("cat > a.sh <<EOF\n$(rm b)\nEOF", &["delete b", "write a.sh"]),
        ("cat <<EOF | tee a.txt\nx\nEOF\nrm b", &["write a.txt", "delete b"]),
        ("cat > a <<'EOF' && rm b\nx\nEOF", &["write a", "delete b"]),
        ("{ echo a; echo b; } > both.txt", &["write both.txt"]),
        ("(cd sub && ls) > list.txt", &["write list.txt"]),
        ("cmp <(sort a) <(sort b) > c; ls > >(tee d)", &["write c", "write d"]),
        ("grep x <<< 'rm y'", &[]),
        ("> empty.txt", &["write empty.txt"]),
        ("echo x > \"$out\"", &["? > \"$out\": Path"]),
        ("bash <<'EOF'\nrm a\nEOF", &["delete a"]),
        ("cd web && cat > a.txt <<'EOF'\nx\nEOF", &["write web/a.txt"]),
        ("cd web && ls | tee b > c", &["write web/b", "write web/c"]),
        (
            "mkdir -p d && cat > d/a <<'EOF' && rm b || rm c\nx\nEOF\nrm e",
            &["folder d", "write d/a", "delete b", "delete c perhaps", "delete e"],
        ),
    ]);
}

#[test]
fn folders_are_followed() {
    check(&[
        ("cd web && rm a; rm b", &["delete web/a", "delete web/b"]),
        ("(cd web && rm a); rm b", &["delete web/a", "delete b"]),
        ("cd web; cd ../api; rm a; cd -; rm b", &["delete api/a", "delete web/b"]),
        ("cd \"$DIR\" && rm a /data/b", &["delete /data/b", "? rm a /data/b: Path"]),
        ("cd ~/code && rm a", &["delete ~/code/a"]),
        ("pushd web; rm a; popd; rm b", &["delete web/a", "delete b"]),
        ("cd web | true; rm a", &["delete a"]),
        ("[ -d web ] && cd web; rm a", &["? rm a: Path"]),
        ("rm ./a ../b a/../c", &["delete a", "delete ../b", "delete c"]),
        ("rm \"$PWD/a\" $HOME/b \"$(pwd)/c\"", &["delete a", "delete ~/b", "delete c"]),
        ("env -C sub rm a; rm b", &["delete sub/a", "delete b"]),
        ("P=; rm \"$P\"a.rs \"$P\"", &["delete a.rs"]),
    ]);
    assert_eq!(told(&effects("cd x && rm a /b", Some("/w/"), None)), ["delete /w/x/a", "delete /b"]);
    assert_eq!(path::joined("/w", "x/../a"), "/w/a");
}

#[test]
fn conditions_make_effects_possible() {
    check(&[
        ("rm a || rm b", &["delete a", "delete b perhaps"]),
        ("[ -f a ] && rm a", &["delete a perhaps"]),
        ("test -e a && rm a; rm b", &["delete a perhaps", "delete b"]),
        ("grep -q x a && rm a && rm b", &["delete a perhaps", "delete b perhaps"]),
        (
            "if cargo test; then rm a; elif true; then rm b; else rm c; fi; rm d",
            &["delete a perhaps", "delete b perhaps", "delete c perhaps", "delete d"],
        ),
        ("case $1 in a) rm a;; *) rm b;; esac", &["delete a perhaps", "delete b perhaps"]),
        ("while read -r f; do rm \"$f\"; done < list", &["read list", "? rm \"$f\": Path"]),
        ("cargo test && rm a", &["delete a"]),
        ("rm a; [ -f a ] || rm a", &["delete a"]),
        ("clean() { rm a; }; ls", &[]),
        ("clean() { rm a; }; clean", &["delete a"]),
        ("trap 'rm -f t' EXIT", &["delete t perhaps"]),
    ]);
}

#[test]
fn loops_and_variables_with_told_values_are_bound() {
    check(&[
        ("for f in a.rs \"b c.rs\"; do sed -i 's/x/y/' \"$f\"; done", &["write a.rs", "write b c.rs"]),
        ("for f in *.js; do mv \"$f\" \"${f%.js}.ts\"; done", &["move *.js -> *.ts glob perhaps"]),
        ("for f in $(ls); do rm \"$f\"; done", &["? rm \"$f\": Path"]),
        ("for i in 1 2; do touch f$i.txt; done", &["write f1.txt", "write f2.txt"]),
        ("F=src/a.rs; rm $F \"$F.bak\"", &["delete src/a.rs", "delete src/a.rs.bak"]),
        ("F='a b'; rm $F; rm \"$F\"", &["delete a", "delete b", "delete a b"]),
        ("files=(a.rs b.rs); rm \"${files[@]}\"", &["delete a.rs", "delete b.rs"]),
        ("export OUT=dist && rm -r \"${OUT}/x\"", &["delete dist/x"]),
        ("F=a cat b; rm $F", &["read b", "? rm $F: Path"]),
        ("for f in a b; do [ -f $f ] && rm $f; done", &["delete a perhaps", "delete b perhaps"]),
    ]);
}

#[test]
fn prefixes_and_shells_inside_are_stripped() {
    check(&[
        ("sudo -u root rm -f /etc/a", &["delete /etc/a"]),
        ("env -i A=b FOO=1 rm a", &["delete a"]),
        ("FOO=1 BAR='x y' rm a", &["delete a"]),
        ("timeout -k 5 30s rm a", &["delete a"]),
        ("nohup nice -n 10 rm a &", &["delete a"]),
        (
            "time rm a; command rm b; \\rm c; /bin/rm d; ! rm e",
            &["delete a", "delete b", "delete c", "delete d", "delete e"],
        ),
        ("bash -lc 'cd web && rm \"a b\"'; rm c", &["delete web/a b", "delete c"]),
        ("sh -c \"rm '\\$HOME/x' y\"", &["delete $HOME/x", "delete y"]),
        ("bash -c \"bash -c 'bash -c \\\"rm a\\\"'\"", &["delete a"]),
        ("bash -c \"bash -c 'bash -c \\\"bash -c pwd\\\"'\"", &["? bash -c pwd: Limit"]),
        ("bash -c \"$SCRIPT\"", &["? bash -c \"$SCRIPT\": Dynamic"]),
        ("eval 'rm a'", &["delete a"]),
        ("echo $'a\\nb' > $'c\\td'; rm $'it\\'s'", &["write c\td", "delete it's"]),
        ("rm 'it'\\''s' a\\ b \"q\\\"r\"", &["delete it's", "delete a b", "delete q\"r"]),
        ("rm a \\\n  b # rm c", &["delete a", "delete b"]),
    ]);
    let programs = effects("sudo env A=1 rm a | xargs -n1 grep x; bash -c 'git log'", None, None).programs;
    assert_eq!(programs, ["sudo", "env", "rm", "xargs", "grep", "bash", "git"]);
}

#[test]
fn other_shells_are_not_read() {
    check(&[
        ("del /f /q a.txt", &["? del /f /q a.txt: Shell"]),
        ("rmdir /s /q build", &["? rmdir /s /q build: Shell"]),
        ("dir 2>nul", &["? dir 2>nul: Shell"]),
        ("type a.txt | findstr x", &["? type a.txt | findstr x: Shell"]),
        ("cd C:\\code && rm a", &["? cd C:\\code && rm a: Shell"]),
        ("Remove-Item -Recurse build", &["? Remove-Item -Recurse build: Shell"]),
        ("Get-ChildItem | Select-String x", &["? Get-ChildItem | Select-String x: Shell"]),
        ("$env:X = 1; rm a", &["? $env:X = 1; rm a: Shell"]),
        ("rmdir /s", &["? rmdir /s: Shell"]),
        ("cat > a.ps1 <<'EOF'\nRemove-Item x 2>nul\nEOF", &["write a.ps1"]),
    ]);
    for shell in ["cmd.exe", "C:\\Windows\\System32\\cmd.exe", "pwsh", "/usr/bin/fish"] {
        assert_eq!(told(&effects("rm a", None, Some(shell))), ["? rm a: Shell"], "{shell}");
    }
    for shell in ["bash", "/bin/zsh", "sh", "C:\\Program Files\\Git\\bin\\bash.exe"] {
        assert_eq!(told(&effects("rm a", None, Some(shell))), ["delete a"], "{shell}");
    }
    assert_eq!(told(&effects("rmdir /s", None, Some("bash"))), ["delete /s"], "as stated");
}

#[test]
fn syntax_errors_leave_what_comes_before() {
    check(&[
        ("rm a; echo \"x", &["delete a perhaps", "? \"x: Syntax"]),
        ("rm app/(group)/x; rm y", &["delete y perhaps", "? rm app/(group): Syntax", "? /x: Syntax"]),
        ("", &[]),
        ("# only a comment", &[]),
    ]);
}
