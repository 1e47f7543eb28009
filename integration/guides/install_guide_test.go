//go:build linux

package guides

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/release"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/dockerd"
)

// What a newcomer to docs/operate/install.md chooses. The first password has characters
// that YAML, HCL, JSON, HTML and files of variables each treat in their own way.
const (
	firstPassword  = "A <first> & 'odd' #1 é"
	newPassword    = "The changed 1"
	alicesPassword = "Of alice 2"
)

// A newcomer follows docs/operate/install.md on servers with access control on, from the
// release to a first experiment.
type newcomer struct {
	rig.Rig
	dir     string // of everything
	address string // of the node, which is no loopback address
	port    int    // of the master
	nomad   string // token of Nomad's management
	env     []string
	said    string          // what all commands until now have printed
	docker  *dockerd.Docker // of the nodes; nil where there can be none
	table   []*place
}

// guideBlocks are the blocks that the guide has, so that none is hidden: neither by the
// way it is written nor by a mark that no test runs it.
const (
	guideCommands = 12 // blocks of commands that are run
	guideSkipped  = 0  // blocks that are marked as not run by a test
	guideFiles    = 3  // blocks that begin with a comment that names their file
	guideConfigs  = 1  // blocks of the configuration of Nomad's nodes

	firstExperiment = "7. A first experiment"
)

// TestInstallGuide runs docs/operate/install.md word by word, with values for the placeholders of
// its table: PostgreSQL, Nomad and Consul run with access control, and nothing of Detent is
// installed. The master listens at the node's address, as on a site, and its database is the one of database.md.
func TestInstallGuide(t *testing.T) {
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	blocks := guide(t, root)
	n := newNewcomer(t, root, blocks)
	for i, b := range blocks {
		if n.docker == nil && b.heading == firstExperiment {
			break
		}
		switch {
		case b.skip != "" || b.lang == "hcl":
		case b.lang != "":
			n.write(t, filledIn(t, b.text, n.table))
		default:
			n.run(t, fmt.Sprintf("block %d, of %q", i+1, b.heading), filledIn(t, b.text, n.table))
		}
		if strings.Contains(b.text, "nomad/master.nomad.hcl") {
			n.blankPasswordsAreRefused(t)
		}
	}
	for _, p := range n.table {
		if !p.used {
			t.Errorf("the placeholder %q of the test's table is in no block", p.name)
		}
	}
	if n.docker != nil {
		n.hasRun(t)
	}
	n.passwordsStay(t)
	n.databaseIsCopied(t)
	if os.Geteuid() == 0 { // the driver exec needs root
		i := slices.IndexFunc(blocks, func(b block) bool { return strings.Contains(b.text, "nomad/master.nomad.hcl") })
		n.startsUnderExec(t, filledIn(t, blocks[i].text, n.table))
		if n.docker != nil {
			n.startsInAContainer(t, filledIn(t, blocks[i].text, n.table), blocks[len(blocks)-1].text)
		}
	}
}

// guide returns the blocks of install.md, with the blocks of database.md and acl.md to which it refers.
func guide(t *testing.T, root string) []block {
	t.Helper()
	page := func(name string) []block { return blocksOf(t, filepath.Join(root, "docs", "operate", name)) }
	install, acl := page("install.md"), page("acl.md")
	const rights = "3. Secrets and rights"
	text, err := os.ReadFile(filepath.Join(root, "docs", "operate", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## "+rights+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !strings.Contains(section, "commands\nof [acl.md](acl.md)") {
		t.Fatalf("the section %q does not send its reader to acl.md:\n%s", rights, section)
	}
	last := -1
	for i, b := range install {
		if b.heading == rights {
			last = i
		}
	}
	database := slices.IndexFunc(install, func(b block) bool { return b.heading == "2. Database" })
	blocks := slices.Concat(install[:database], page("database.md"), install[database:last+1], acl, install[last+1:])
	count := map[string]int{}
	for _, b := range blocks {
		switch {
		case b.skip != "":
			t.Logf("not run: %s: %s", b.heading, b.skip)
			count["skipped"]++
		case b.lang == "":
			count["commands"]++
		case b.lang == "hcl":
			count["configs"]++
		default:
			count["files"]++
		}
	}
	if want := map[string]int{"commands": guideCommands, "configs": guideConfigs, "files": guideFiles}; guideSkipped != count["skipped"] ||
		count["commands"] != want["commands"] || count["configs"] != want["configs"] || count["files"] != want["files"] {
		t.Fatalf("the guide has other blocks now: %v", count)
	}
	return blocks
}

func newNewcomer(t *testing.T, root string, blocks []block) *newcomer {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, "webui", "dist", "index.html")); err != nil {
		t.Skip("the pages are not built here, and there is no release without them (./justw ui)")
	}
	for _, program := range []string{"psql", "createdb"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the guide's %s is not here (Debian: apt-get install postgresql-client)", program)
		}
	}
	name, address := nodeAddress(t)
	dir, err := os.MkdirTemp("", "detent-install-")
	if err := errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	n := &newcomer{Rig: rig.Rig{Root: root}, dir: dir, address: address, port: freePort(t)}
	pg := superuser(t)
	t.Cleanup(func() { rig.RemoveOwn(t, &n.Rig, dir) })
	out := n.release(t)
	n.cluster(t, name, pg, blocks)
	files := httptest.NewServer(http.FileServer(http.Dir(out)))
	t.Cleanup(files.Close)
	master := fmt.Sprintf("http://%s:%d", n.address, n.port)
	management, _ := n.ConsulTokens()
	// The longer ones of those that begin alike come first.
	n.table = []*place{
		{name: "linux_amd64", value: literal(here().String())},     // the platform
		{name: "https://files.example", value: literal(files.URL)}, // a web server with the release
		{name: "nomad/postgres.nomad.hcl", value: literal(n.postgresJob(t, pg))},
		{name: "db.example:5432", value: literal("$database")},           // of the PostgreSQL that Nomad runs
		{name: "db.example", value: literal("127.0.0.1")},                // another one, whose port is in PGPORT
		{name: "https://nomad.example:4646", value: literal(n.NomadURL)}, // Nomad
		{name: "https://consul.example:8500", value: literal(n.ConsulURL)},
		{name: "https://detent.example", value: literal(master)},                // no ingress here: people and tasks call the master at its node
		{name: "registry.example/python", value: literal("detent-test/python")}, // an image that the nodes have
		{name: "registry.example", value: literal("registry.invalid")},
		{name: "/mnt/checkpoints", value: literal(filepath.Join(dir, "checkpoints"))}, // the shared file system
		{name: "NOMAD-TOKEN", value: literal(n.nomad)},
		{name: "CONSUL-TOKEN", value: literal(management)},
		{name: "DATABASE-PASSWORD", value: literal("$password")},
		{name: "FIRST-PASSWORD", value: literal(firstPassword)},
		{name: "SECRET-ID", value: func() string { return n.secretID(t) }}, // as consul acl token create has printed it
	}
	n.environment(t, out, pg)
	return n
}

func here() release.Target { return release.Target{OS: runtime.GOOS, Arch: runtime.GOARCH} }

// postgresJob is the job file of PostgreSQL with the variables for this machine: its programs and a free port. The driver
// exec, which needs root and Debian's package here, uses the volume; raw_exec has a folder.
func (n *newcomer) postgresJob(t *testing.T, dsn string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var programs, files string
	if err := conn.QueryRow(t.Context(), `SELECT (SELECT setting FROM pg_config WHERE name = 'BINDIR'), current_setting('data_directory')`).Scan(&programs, &files); err != nil {
		t.Fatal(err)
	}
	vars := fmt.Sprintf("-var programs=%s -var port=%d", programs, freePort(t))
	if os.Geteuid() == 0 && strings.HasPrefix(programs, "/usr/lib/postgresql/") {
		return vars + " -var driver=exec nomad/postgres.nomad.hcl"
	}
	account, err := exec.CommandContext(t.Context(), "stat", "--format=%U", files).Output()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s -var driver=raw_exec -var user=%s -var folder=%s nomad/postgres.nomad.hcl", vars, bytes.TrimSpace(account), filepath.Join(n.dir, "postgres"))
}

// databaseIsCopied: the task beside PostgreSQL has written a copy.
func (n *newcomer) databaseIsCopied(t *testing.T) {
	t.Helper()
	out, err := n.enter(t, `nomad alloc logs -task backup "$allocation"`, nil)
	if err != nil || !strings.Contains(out, "backups/detent-") {
		t.Errorf("the copy of the database: %v\n%s", err, out)
	}
}

// nodeAddress is an address of this machine that is no loopback one, and its interface.
func nodeAddress(t *testing.T) (name, address string) {
	t.Helper()
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback != 0 || i.Flags&net.FlagUp == 0 {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
				return i.Name, n.IP.String()
			}
		}
	}
	t.Skip("this machine has loopback addresses only, and what is tried is a master that listens at another one")
	return "", ""
}

// superuser starts a server on which nothing of Detent is. Its superuser is postgres, as
// elsewhere: the name detent is the guide's.
func superuser(t *testing.T) (dsn string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "detent-install-postgres-")
	if err := errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	pg, err := servers.StartPostgres(t.Context(), servers.PostgresOptions{Dir: filepath.Join(dir, "server"), Database: "postgres", Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
		defer cancel()
		if err := errors.Join(pg.Stop(ctx), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(pg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	statement := func(dsn, sql string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	statement(pg.DSN, "CREATE ROLE postgres SUPERUSER LOGIN PASSWORD '"+password+"'")
	statement(strings.Replace(pg.DSN, "//"+u.User.Username()+":", "//postgres:", 1), "ALTER ROLE "+u.User.Username()+" RENAME TO installer")
	return strings.Replace(pg.DSN, "//"+u.User.Username()+":", "//postgres:", 1)
}

// release makes the files that operators install, for this machine.
func (n *newcomer) release(t *testing.T) (out string) {
	t.Helper()
	out = filepath.Join(n.dir, "release")
	if _, err := release.Build(t.Context(), release.Options{Root: n.Root, Out: out, Servers: []release.Target{here()}, ArchivesOnly: true, Log: t.Output()}); err != nil {
		t.Fatal(err)
	}
	return out
}

// cluster brings up Nomad and Consul as a site has them, with access control on, the
// guide's configuration of nodes, and nothing of Detent.
func (n *newcomer) cluster(t *testing.T, device, dsn string, blocks []block) {
	t.Helper()
	var nodes strings.Builder
	for _, b := range blocks {
		if b.lang == "hcl" {
			nodes.WriteString(b.text)
		}
	}
	docker := n.startDocker(t)
	var libraries []string // of the machine's programs, and PostgreSQL's
	for _, pattern := range []string{"/lib/*-linux-gnu", "/usr/lib/postgresql", "/usr/share/postgresql", "/usr/lib/locale", "/usr/share/zoneinfo"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		libraries = append(libraries, found...)
	}
	var err error
	n.Cluster, err = local.Up(t.Context(), local.Options{Name: "site", StateDir: filepath.Join(n.dir, "cluster"), FreePorts: true, DSN: dsn,
		ConsulACL: true, Docker: docker, Chroot: append([]string{"/bin", "/etc", "/lib64"}, libraries...), Interface: device, ExtraNomad: nodes.String()}, servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	n.Description = n.Describe(t.Context())
	n.nomad = n.NomadToken
	// The local cluster gives its master rights when it starts Nomad and Consul. Here the guide does.
	nomad, err := n.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nomad.ACLPolicies().Delete("det-master", nil); err != nil {
		t.Fatal(err)
	}
	management, _ := n.ConsulTokens()
	_, text := n.Consul(t, http.MethodGet, "/v1/acl/policy/name/det-master", management, "")
	var policy struct{ ID string }
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if status, text := n.Consul(t, http.MethodDelete, "/v1/acl/policy/"+policy.ID, management, ""); status != http.StatusOK {
		t.Fatalf("the policy of Consul is not removed: %d %s", status, text)
	}
}

// startDocker starts the daemon of the nodes, with the image of the guide's pool. It has
// no registry to ask for it.
func (n *newcomer) startDocker(t *testing.T) *local.Containers {
	t.Helper()
	d, err := dockerd.Start(t.Context(), dockerd.Options{Dir: filepath.Join(n.dir, "cluster", "docker"), Reporter: servers.NewReporter(os.Stderr)})
	if errors.Is(err, dockerd.ErrNone) {
		t.Log("the guide is followed up to its first experiment, which runs in a container: ", err)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	n.docker = d
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
		defer cancel()
		if err := d.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	var image bytes.Buffer
	if err := rig.WriteImage(t.Context(), &image, "sh"); err != nil {
		t.Fatal(err)
	}
	if err := d.Import(t.Context(), "detent-test/python", "3.12", &image, "ENV PATH=/usr/local/bin:/usr/bin:/bin"); err != nil {
		t.Fatal(err)
	}
	return &local.Containers{Socket: d.Socket, Stop: d.Stop}
}

// environment is the environment of the guide's commands: Nomad's and Consul's programs on PATH,
// PostgreSQL's port and password as its client finds them, and ports and an address of Consul that
// differ from the job file's, because this machine is shared.
func (n *newcomer) environment(t *testing.T, folder, dsn string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	programs := filepath.Join(n.dir, "programs")
	home := filepath.Join(n.dir, "home")
	if err := errors.Join(os.MkdirAll(programs, 0o755), os.MkdirAll(home, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nomad", "consul"} {
		binary, err := servers.Ensure(t.Context(), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(binary.Path, filepath.Join(programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(n.stateFile("cwd"), []byte(folder), 0o644); err != nil {
		t.Fatal(err)
	}
	n.env = []string{"PATH=" + programs + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "TERM=dumb", "NO_COLOR=1", "LANG=C.UTF-8",
		"PGPORT=" + u.Port(), "PGPASSWORD=" + password,
		fmt.Sprintf("NOMAD_VAR_port=%d", n.port), fmt.Sprintf("NOMAD_VAR_tasks_port=%d", freePort(t)), "NOMAD_VAR_consul_addr=" + n.ConsulURL}
}

// stateFile keeps what one block leaves for the next: the folder and the variables.
func (n *newcomer) stateFile(name string) string { return filepath.Join(n.dir, "home", "."+name) }

// folder returns the folder in which the last block ended.
func (n *newcomer) folder(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(n.stateFile("cwd"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// write makes the file that a block's first line names in a comment.
func (n *newcomer) write(t *testing.T, text string) {
	t.Helper()
	first, _, _ := strings.Cut(text, "\n")
	name, ok := strings.CutPrefix(first, "# ")
	if !ok || !filepath.IsLocal(name) {
		t.Fatalf("the block does not begin with the name of its file:\n%s", text)
	}
	path := filepath.Join(n.folder(t), name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// run enters a block of commands at a terminal and answers what it asks.
func (n *newcomer) run(t *testing.T, what, block string) {
	t.Helper()
	began := time.Now()
	out, err := n.enter(t, block, answers())
	t.Logf("%s (%.1f s)\n%s\n%s", what, time.Since(began).Seconds(), block, out)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	n.said += out
}

// answers are questions of programs with the answers that users type.
func answers() [][2]string {
	return [][2]string{
		{"Password for user 'admin': ", firstPassword},
		{"Current password of user 'admin': ", firstPassword},
		{"New password for user 'admin': ", newPassword},
		{"Password for user 'alice': ", alicesPassword},
	}
}

// enter runs commands in a shell at a terminal, where the last ones have left it.
func (n *newcomer) enter(t *testing.T, commands string, answers [][2]string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*rig.Patience)
	defer cancel()
	script := fmt.Sprintf("set -a\nif [ -f %[1]q ]; then . %[1]q; fi\ncd \"$(cat %[2]q)\"\nset -euo pipefail\n%[3]s\nexport -p >%[1]q\npwd >%[2]q\n",
		n.stateFile("variables"), n.stateFile("cwd"), commands)
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Env = n.env
	return atTerminal(t, cmd, answers)
}

// secretID is the secret of the token that Consul has made last.
func (n *newcomer) secretID(t *testing.T) string {
	t.Helper()
	all := regexp.MustCompile(`SecretID:\s+([0-9a-f-]{36})`).FindAllStringSubmatch(n.said, -1)
	if len(all) == 0 {
		t.Fatalf("consul acl token create has printed no secret:\n%s", n.said)
	}
	return all[len(all)-1][1]
}

// newClient is a client of the master at its node's address.
func (n *newcomer) newClient(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{Master: fmt.Sprintf("http://%s:%d", n.address, n.port)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// blankPasswordsAreRefused: the master listens at its node's address and not on loopback, so nobody
// can sign in without a password, and the error names what to do.
func (n *newcomer) blankPasswordsAreRefused(t *testing.T) {
	t.Helper()
	var d net.Dialer
	if conn, err := d.DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", n.port)); err == nil {
		conn.Close()
		t.Error("the master listens at a loopback address, where blank passwords are accepted: nothing is shown")
	}
	for _, user := range []string{"admin", "determined"} {
		_, err := n.newClient(t).Login(t.Context(), user, "")
		if err == nil || !strings.Contains(err.Error(), "loopback address") || !strings.Contains(err.Error(), "det user change-password "+user) ||
			!strings.Contains(err.Error(), "initial_password") {
			t.Errorf("%s signs in with a blank password: %v", user, err)
		}
	}
	out, err := n.enter(t, fmt.Sprintf("det -m http://%s:%d user login admin", n.address, n.port), [][2]string{{"Password for user 'admin': ", ""}})
	if err == nil || !strings.Contains(out, "initial_password") {
		t.Errorf("det user login with a blank password: %v\n%s", err, out)
	}
}

// hasRun: the first experiment is complete, and it is alice's, on the cluster of master.yaml.
func (n *newcomer) hasRun(t *testing.T) {
	t.Helper()
	n.Client = n.newClient(t)
	n.MasterURL = n.Client.Master()
	if _, err := n.Client.Login(t.Context(), "alice", alicesPassword); err != nil {
		t.Fatal(err)
	}
	n.WaitState(t, 1, v1.ExperimentStateCompleted)
	e, err := client.Call(t.Context(), n.Client, v1.GetExperiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	if e.Experiment.Username != "alice" || e.Experiment.Name != "first" {
		t.Errorf("the first experiment is %q of %q", e.Experiment.Name, e.Experiment.Username)
	}
	m, err := client.Call(t.Context(), n.Client, v1.GetMaster)
	if err != nil {
		t.Fatal(err)
	}
	if m.ClusterName != "vision" {
		t.Errorf("the cluster's name is %q, and in master.yaml it is vision", m.ClusterName)
	}
	if _, err := n.newClient(t).Login(t.Context(), "determined", ""); err == nil {
		t.Error("the deactivated user determined signs in")
	}
}

// passwordsStay: a master that starts again leaves the changed password alone.
func (n *newcomer) passwordsStay(t *testing.T) {
	t.Helper()
	before, err := client.Call(t.Context(), n.newClient(t), v1.GetMaster)
	if err != nil {
		t.Fatal(err)
	}
	n.run(t, "the master starts again", "nomad job restart -yes -verbose det-master")
	rig.Eventually(t, "another process is the master", func() (bool, error) {
		now, err := client.Call(t.Context(), n.newClient(t), v1.GetMaster)
		return err == nil && now.MasterID != before.MasterID, err
	})
	if _, err := n.newClient(t).Login(t.Context(), "admin", newPassword); err != nil {
		t.Errorf("after a start the changed password is refused: %v", err)
	}
	if _, err := n.newClient(t).Login(t.Context(), "admin", firstPassword); err == nil {
		t.Error("after a start the initial password is good again")
	}
}

// startsUnderExec: a node without raw_exec runs the master too, as the guide says.
func (n *newcomer) startsUnderExec(t *testing.T, block string) {
	t.Helper()
	n.run(t, "the master with the driver exec", strings.Replace(block, "nomad job run ", "nomad job run -var driver=exec ", 1))
	if _, err := n.newClient(t).Login(t.Context(), "admin", newPassword); err != nil {
		t.Errorf("with the driver exec: %v", err)
	}
}

// startsInAContainer: the release's image runs the master under Docker, up to a finished experiment.
func (n *newcomer) startsInAContainer(t *testing.T, block, first string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.dir, "release", "det-master-image_*"+here().String()+"*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the release has the images %q: %v", files, err)
	}
	image, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	if err := n.docker.Load(t.Context(), image); err != nil {
		t.Fatal(err)
	}
	n.run(t, "the master in a container", strings.Replace(block, "nomad job run ", "nomad job run -var driver=docker -var network_mode=host -var image=det-master:"+v1.Version+" ", 1))
	n.run(t, "an experiment of a master in a container", first)
	n.WaitState(t, 2, v1.ExperimentStateCompleted)
}
