package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/detent-ml/detent/integration/house/effects"
)

// TestFlagsHaveEffects: each flag of det-master has a test that sees its effect.
func TestFlagsHaveEffects(t *testing.T) {
	var names []string
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(x *pflag.Flag) {
			names = append(names, strings.ReplaceAll(c.CommandPath(), " ", "/")+"/--"+x.Name)
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(command())
	effects.Check(t, "..", names, []effects.Row{
		{"det-master/serve/--config det-master/serve/--set det-master/check-config/--config det-master/check-config/--set", "master TestFlagsOfTheConfiguration"},
		{"det-master/import/--from det-master/import/--dry-run det-master/import/--logs det-master/import/--verify det-master/import/--workspace-prefix det-master/import/--config det-master/import/--set", "master TestImport"},
		{"det-master/import/--from-token-file det-master/import/--old-host", "master TestImportRefuses"},
		{"det-master/import/--partial", "master TestImportOfAPart"},
	})
}

// TestFlagsOfTheConfiguration: check-config and serve read the file, and --set overrides it.
func TestFlagsOfTheConfiguration(t *testing.T) {
	t.Setenv("DETENT_DATABASE", "")
	file := filepath.Join(t.TempDir(), "master.yaml")
	if err := os.WriteFile(file, []byte("database: postgres://x\nlog_level: loud\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"check-config":                                             "",
		"check-config " + file:                                     "log_level: expected one of",
		"check-config --config " + file:                            "log_level: expected one of",
		"serve --config " + file:                                   "log_level: expected one of",
		"serve --set log_level=nonsense":                           `found "nonsense"`,
		"check-config --config " + file + " --set log_level=debug": "",
		// It does not serve on an address that it cannot have.
		"serve --config " + file + " --set log_level=debug --set shared_raw_exec=true --set listen=192.0.2.1:1": "cannot listen on 192.0.2.1:1",
	} {
		c := command()
		c.SetArgs(strings.Fields(line))
		var out bytes.Buffer
		c.SetOut(&out)
		err := c.ExecuteContext(t.Context())
		if want == "" && (err != nil || !strings.HasPrefix(out.String(), "the configuration is good")) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v; want %q", line, out.String(), err, want)
		}
	}
}
