package root_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/root"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/server/servertest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// run is one command line.
func run(t *testing.T, env map[string]string, args ...string) (status int, out, errs string) {
	t.Helper()
	io, o, e := term.Buffers("")
	env["HOME"] = t.TempDir()
	a := &app.App{IO: io, Now: time.Now, Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	status = root.Run(t.Context(), a, args)
	return status, o.String(), e.String()
}

// TestAgainstAMaster runs its parts one after the other on one master.
func TestAgainstAMaster(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, nil)
	t.Run("completion", func(t *testing.T) { completion(t, s) })
	t.Run("exit statuses", func(t *testing.T) { exitStatuses(t, s) })
	t.Run("a weak password is said", func(t *testing.T) { aWeakPasswordIsSaid(t, s) })
	t.Run("interrupted", func(t *testing.T) { interrupted(t, s) })
}

func exitStatuses(t *testing.T, s *servertest.Master) {
	t.Helper()
	for _, c := range []struct {
		args string
		want int
	}{
		{"", 0},
		{"--version", 0},
		{"e list", 0},
		{"experiment", 0},
		{"e lst", 2},
		{"e list --nope", 2},
		{"e list extra", 2},
		{"e list --json --csv", 2},
		{"t download 1", 2},
		{"e logs 1 --head 1 --tail 1", 2},
		{"e describe x", 2},
		{"e describe 9", 5},
		{"e pause 9", 5},
		{"user create admin --password x", 7},
		{"-u nobody e list", 4},
		{"-m 127.0.0.1:9 e list", 8},
		{"-m http:// e list", 1},
		{"e create /does/not/exist .", 1},
	} {
		status, out, errs := run(t, map[string]string{"DET_MASTER": s.URL}, strings.Fields(c.args)...)
		if status != c.want {
			t.Errorf("det %s: status %d, want %d\n%s%s", c.args, status, c.want, out, errs)
		}
		if (status == 0) != (errs == "") {
			t.Errorf("det %s: status %d with %q on stderr", c.args, status, errs)
		}
	}
}

// det warns of a weak password when an admin sets it for a user, as when users choose it.
func aWeakPasswordIsSaid(t *testing.T, s *servertest.Master) {
	t.Helper()
	for name, c := range map[string]struct {
		password string
		weak     bool
	}{"ida": {"x", true}, "ada": {"Passw0rd-of-ida", false}} {
		_, _, errs := run(t, map[string]string{"DET_MASTER": s.URL, "DET_USER": "admin", "DET_PASS": ""}, "user", "create", name, "--password", c.password)
		if said := strings.Contains(errs, "easy to guess") && strings.Contains(errs, "det user change-password "+name); said != c.weak {
			t.Errorf("password %q: %q", c.password, errs)
		}
	}
}

func interrupted(t *testing.T, s *servertest.Master) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	io, _, errs := term.Buffers("")
	a := &app.App{IO: io, Now: time.Now, Master: s.URL, Lookup: func(string) (string, bool) { return t.TempDir(), true }}
	if status := root.Run(ctx, a, []string{"-m", s.URL, "e", "list"}); status != 3 || errs.String() != "Interrupted.\n" {
		t.Errorf("status %d, %q", status, errs)
	}
}

func TestHints(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		args string
		want string
	}{
		{map[string]string{"DET_MASTER": "127.0.0.1:9"}, "e list", "Check the address in DET_MASTER, or start"},
		{map[string]string{"DET_MASTER_ADDR": "127.0.0.1:9"}, "e list", "Check the address in DET_MASTER_ADDR, or start"},
		{map[string]string{}, "-m 127.0.0.1:9 e list", "Check the address given with -m, or start"},
	} {
		_, _, errs := run(t, c.env, strings.Fields(c.args)...)
		lines := strings.Split(errs, "\n")
		if len(lines) != 3 || lines[0] != "no master answers at http://127.0.0.1:9: connection refused" || !strings.HasPrefix(lines[1], c.want) {
			t.Errorf("det %s: %q", c.args, errs)
		}
	}
}

// every calls fn for each command.
func every(cmd *cobra.Command, fn func(*cobra.Command)) {
	fn(cmd)
	for _, sub := range cmd.Commands() {
		every(sub, fn)
	}
}

func tree() *cobra.Command {
	io, _, _ := term.Buffers("")
	return root.Command(&app.App{IO: io, Now: time.Now, Lookup: func(string) (string, bool) { return "", false }})
}

func TestEveryCommandExplainsItself(t *testing.T) {
	every(tree(), func(cmd *cobra.Command) {
		if cmd.Name() == "help" {
			return // cobra's own
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: its short text is %q", cmd.CommandPath(), cmd.Short)
		}
		if cmd.RunE == nil {
			t.Errorf("%s does nothing", cmd.CommandPath())
		}
		if !cmd.HasSubCommands() && cmd.Args == nil && cmd.Name() != "run" {
			t.Errorf("%s takes any arguments without looking", cmd.CommandPath())
		}
	})
}

// Text tables are for people; every verb that prints one can also print JSON, YAML or CSV.
func TestEveryTableCanBeReadByPrograms(t *testing.T) {
	tables := 0
	every(tree(), func(cmd *cobra.Command) {
		name := cmd.Name()
		if cmd.HasSubCommands() || !strings.HasPrefix(name, "list") && name != "describe" {
			return
		}
		tables++
		for _, flag := range []string{"json", "yaml", "csv"} {
			if cmd.Flags().Lookup(flag) == nil {
				t.Errorf("%s has no --%s", cmd.CommandPath(), flag)
			}
		}
	})
	if tables < 15 {
		t.Errorf("only %d tables were found", tables)
	}
}

// The verbs, aliases and flags that users and scripts know from Determined.
func TestDeterminedsVerbs(t *testing.T) {
	for line, flags := range map[string]string{
		"e list": "all limit offset pages csv show_project", "experiment ls": "", "e config": "", "e describe": "metrics csv json outdir",
		"e logs":        "json follow head tail agent-id container-id rank-id timestamp-before timestamp-after level source stdtype",
		"e list-trials": "limit offset pages csv",
		"e lt":          "", "e list-checkpoints": "best csv", "e lc": "",
		"e create":   "include template project_id config follow-first-trial paused test-mode publish local",
		"e activate": "", "e unpause": "", "e cancel": "", "e pause": "", "e archive": "", "e unarchive": "", "e delete": "yes",
		"e download": "output-dir top-n sort-by smaller-is-better quiet", "e download-model-def": "output-dir", "e kill": "",
		"e wait": "polling-interval", "e label add": "", "e label remove": "", "e move": "", "e set description": "", "e set name": "",
		"e set max-slots": "", "e set weight": "", "e set priority": "",
		"t describe": "metrics-summary metrics csv json limit offset pages", "t logs": "json follow head tail level", "t kill": "",
		"t download": "best latest uuid output-dir sort-by smaller-is-better quiet",
		"c download": "output-dir quiet mode", "c describe": "", "checkpoint describe": "",
		"cmd run": "config-file volume context include workspace-name config template detach", "command list": "sort-by order-by quiet workspace-name all json csv",
		"cmd ls": "", "cmd describe": "json csv", "cmd config": "", "cmd logs": "follow json head tail allocation-id", "cmd kill": "force", "cmd set priority": "",
		"task list": "csv json", "task ls": "", "task logs": "follow json head tail allocation-id",
		"master info": "json yaml", "master config show": "json yaml", "master logs": "follow tail",
		"u login": "", "u logout": "all", "u whoami": "", "u list": "all", "u create": "admin password remote", "u activate": "", "u deactivate": "",
		"u change-password": "", "u edit": "display-name username remote active admin", "u rename": "",
		"a list": "csv json", "s list": "csv json", "j list": "resource-pool limit offset pages reverse json yaml table csv",
		"w list": "sort-by order-by limit offset json", "w create": "default-compute-pool default-aux-pool checkpoint-storage-config json", "w describe": "json", "w list-projects": "sort-by order-by json",
		"p list": "sort-by order-by limit offset json", "p create": "description key json", "p describe": "all json", "p list-experiments": "all sort-by order-by json",
		"dev auth-token": "", "dev curl": "show", "dev c": "", "version": "",
		"quota list": "workspace-name project-name username json csv", "quota set": "workspace-name project-name username resource-pool slot-hours-per soft hard json", "quota unset": "workspace-name project-name username resource-pool slot-hours-per",
		"webhook list": "json csv", "webhook create": "workspace-name name type specific state log metric custom json", "webhook delete": "", "webhook test": "",
		"webhook deliveries": "limit json csv", "webhook redeliver": "",
		"deploy local cluster-up":   "agents master-port cluster-name master-config-path delete-db",
		"deploy local cluster-down": "cluster-name", "deploy local logs": "cluster-name",
	} {
		cmd, rest, err := tree().Find(strings.Fields(line))
		if err != nil || len(rest) > 0 {
			t.Errorf("det %s: %v, %q left over", line, err, rest)
			continue
		}
		for flag := range strings.FieldsSeq(flags) {
			if cmd.Flags().Lookup(flag) == nil {
				t.Errorf("det %s has no --%s", line, flag)
			}
		}
	}
	for line, letters := range map[string]string{
		"e create": "i f t p", "e logs": "f", "e list": "a", "e download": "o q", "c download": "o q", "t logs": "f",
		"cmd run": "v c i w d", "cmd list": "q a w", "cmd kill": "f", "u logout": "a", "j list": "p", "master logs": "f", "dev curl": "x",
	} {
		cmd, _, err := tree().Find(strings.Fields(line))
		if err != nil {
			t.Fatal(err)
		}
		for letter := range strings.FieldsSeq(letters) {
			if cmd.Flags().ShorthandLookup(letter) == nil {
				t.Errorf("det %s has no -%s", line, letter)
			}
		}
	}
}

func completion(t *testing.T, s *servertest.Master) {
	t.Helper()
	env := map[string]string{"DET_MASTER": s.URL}
	home := t.TempDir()
	env["DET_DEBUG_CONFIG_PATH"] = home
	_, out, _ := run(t, env, "__complete", "e", "pause", "")
	if strings.Contains(out, "iris") || len(s.Front.Calls()) != 0 {
		t.Errorf("completion without a session printed %s and called %v", out, s.Front.Calls())
	}
	env["DET_PASS"] = ""
	if status, _, errs := run(t, env, "user", "login", "determined"); status != 0 {
		t.Fatal(errs)
	}
	config := "name: iris\nentrypoint: x\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n"
	if _, err := s.Client("determined").CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config}, nil); err != nil {
		t.Fatal(err)
	}
	if _, out, _ = run(t, env, "__complete", "e", "pause", ""); !strings.HasPrefix(out, "1\tiris\n") {
		t.Errorf("completed with %q", out)
	}
	if _, out, _ = run(t, env, "__complete", "completion", ""); !strings.HasPrefix(out, "bash\nzsh\nfish\n") {
		t.Errorf("completed with %q", out)
	}
	if _, out, _ = run(t, env, "__complete", "e", "desc"); !strings.HasPrefix(out, "describe\t") {
		t.Errorf("completed with %q", out)
	}
}

func ExampleCommand() {
	cmd, _, _ := tree().Find([]string{"e", "unpause"})
	fmt.Println(cmd.CommandPath(), "-", cmd.Short)
	// Output: det experiment activate - continue a paused experiment
}
