// Package keycloaktest starts a real Keycloak for tests: a broker of OpenID Connect, before a company's provider of SAML. Both are realms of
// one server. Maven fetches it once into the user's cache, and compares its checksum.
package keycloaktest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/detent-ml/detent/nomad/servers"
)

const (
	version = "26.7.3"
	// checksum is the SHA-256 of its archive.
	checksum = "27a6535553c3cdcd083872ba40629efafb3475e3b758e0c6f691395561dd0f1f"
	copier   = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
)

//go:embed realms
var realms embed.FS

// A Keycloak is a running server.
type Keycloak struct {
	URL string // of the server; the realms are broker and corp below it
}

// Issuer is the broker as a provider of OpenID Connect.
func (k Keycloak) Issuer() string { return k.URL + "/realms/broker" }

// A site is what the realms are filled in with.
type site struct{ Keycloak, Callback, Secret string }

// Start starts a server at a port, whose broker sends browsers back to the callback of a client detent with this secret. It skips the test
// where there is no Java or no Maven. The person grace of the company has the password "the password of the tests", and is in the group
// ml-platform.
func Start(t testing.TB, port int, callback, secret string) Keycloak {
	t.Helper()
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not on PATH (Debian: apt-get install default-jre-headless maven)", tool)
		}
	}
	installed, err := ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The server writes below the folder of its script, so each test has its own.
	home := t.TempDir()
	for _, part := range []string{"bin", "conf"} {
		if err := os.CopyFS(filepath.Join(home, part), os.DirFS(filepath.Join(installed, part))); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{"lib", "providers", "themes"} {
		if err := os.Symlink(filepath.Join(installed, part), filepath.Join(home, part)); err != nil {
			t.Fatal(err)
		}
	}
	k := Keycloak{URL: "http://127.0.0.1:" + strconv.Itoa(port)}
	if err := writeRealms(filepath.Join(home, "data", "import"), site{k.URL, callback, secret}); err != nil {
		t.Fatal(err)
	}
	k.run(t, home, port)
	return k
}

func writeRealms(dir string, s site) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	all, err := template.ParseFS(realms, "realms/*.json")
	if err != nil {
		return err
	}
	for _, one := range all.Templates() {
		var text bytes.Buffer
		if err := one.Execute(&text, s); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, one.Name()), text.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// run starts the server, and waits until its broker answers.
func (k Keycloak) run(t testing.TB, home string, port int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(home, "bin", "kc.sh"), "start", "--optimized",
		"--http-enabled", "true", "--hostname-strict", "false", "--http-host", "127.0.0.1", "--http-port", strconv.Itoa(port), "--import-realm")
	cmd.Env = append(os.Environ(), "JAVA_OPTS_KC_HEAP=-Xms64m -Xmx512m")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the script starts Java beside itself
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		if t.Failed() {
			t.Logf("Keycloak says:\n%s", said.String())
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for tick := time.NewTicker(500 * time.Millisecond); ; {
		if answers(ctx, k.Issuer()+"/.well-known/openid-configuration") {
			return
		}
		select {
		case <-ended:
			t.Fatalf("Keycloak ended:\n%s", said.String())
		case <-ctx.Done():
			t.Fatal("Keycloak does not answer")
		case <-tick.C:
		}
	}
}

func answers(ctx context.Context, address string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK
}

// ensure returns the folder of the installed server, which it fetches the first time.
func ensure(ctx context.Context) (string, error) {
	cache, err := servers.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "java", "keycloak-"+version)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	return dir, servers.Once(ctx, dir, servers.Part{
		Lock: dir + ".lock", There: func() bool { _, err := os.Stat(filepath.Join(dir, "bin", "kc.sh")); return err == nil }, Waiting: "fetching Keycloak",
		Making: "fetching Keycloak, once, some minutes",
		Make:   func(ctx context.Context, _ *servers.Task) error { return install(ctx, dir) },
	}, servers.NewReporter(os.Stderr))
}

// install unpacks the archive beside the final folder, and renames it.
func install(ctx context.Context, dir string) error {
	fresh := dir + ".new"
	if err := os.RemoveAll(fresh); err != nil { // of an installation that was killed
		return err
	}
	defer os.RemoveAll(fresh)
	if err := os.MkdirAll(fresh, 0o755); err != nil {
		return err
	}
	archive := filepath.Join(fresh, "keycloak-quarkus-dist-"+version+".zip")
	for _, args := range [][]string{
		{"mvn", "-q", "-B", copier, "-Dartifact=org.keycloak:keycloak-quarkus-dist:" + version + ":zip", "-DoutputDirectory=" + fresh},
		nil,
		{"jar", "xf", archive},
	} {
		if args == nil {
			if err := compare(archive); err != nil {
				return err
			}
			continue
		}
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = fresh
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", args[0], err, out)
		}
	}
	made := filepath.Join(fresh, "keycloak-"+version)
	script := filepath.Join(made, "bin", "kc.sh")
	if err := os.Chmod(script, 0o755); err != nil { // jar keeps no modes
		return err
	}
	// What takes it longest at a start is done once.
	if out, err := exec.CommandContext(ctx, script, "build", "--db=dev-file", "--cache=local").CombinedOutput(); err != nil {
		return fmt.Errorf("kc.sh build: %w\n%s", err, out)
	}
	if err := os.RemoveAll(filepath.Join(made, "data")); err != nil {
		return err
	}
	return os.Rename(made, dir)
}

func compare(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return err
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != checksum {
		return fmt.Errorf("%s has the checksum %s, and not %s", filepath.Base(file), sum, checksum)
	}
	return nil
}
