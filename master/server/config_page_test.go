package server

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write docs/operate/configuration.md anew")

const configurationPage = "../../docs/operate/configuration.md"

// TestConfigurationPage: the page of all keys matches the comments in the code.
func TestConfigurationPage(t *testing.T) {
	p := page{said: comments(t)}
	p.line("# The master's configuration\n")
	p.line("<!-- Made from the comments in master/server by go test ./master/server -run Page -rewrite; change it there. -->\n")
	p.line("`det-master serve --config FILE [--set key=value …]` reads the YAML file, then the environment, then `--set`; a later source overrides an earlier one. " +
		"A wrong key or value stops the start; the message lists all errors, each with the place that set the key: a line and column of the file, a variable, or `--set`. `det-master check-config FILE` checks the file without a start.\n")
	p.line("The environment variable of a key is `DETENT_` and the key in capitals, with underscores in place of dots: `DETENT_NOMAD_ADDRESS` sets `nomad.address`. An empty variable sets nothing. " +
		"The words of a list are separated by commas; other lists and sections are YAML. `det master config` prints the configuration of a running master, without its secrets.\n")
	p.line("Under the Nomad job `nomad/master.nomad.hcl` the environment sets some keys, and the file cannot change them: " +
		"`database` (the secret `dsn`), `listen` and `tasks_listen` (`-var port`, `-var tasks_port`), `nomad.address`, `.namespace`, `.region` and `.token_file` " +
		"(`-var nomad_addr`, `namespace`, `region`), `consul.address` (`-var consul_addr`), `spool.folder`, and `cluster_name` (`-var cluster`), `public_url`, `service_name` (with `count`) and `tls` " +
		"if the job's variables set them.\n")
	p.line("`DETENT_BINARY` is a variable of the job file and not a key.\n")
	cfg := Defaults()
	cfg.Database = ""
	cfg.fill()
	cfg.PublicURL, cfg.TaskURLs, cfg.DefaultComputePool, cfg.DefaultAuxPool, cfg.Webhooks.BaseURL = "", nil, "", "", "" // they follow from others, as their lines say
	pool := cfg.Pools[0]
	pool.Name, pool.Description = "", ""
	p.section("General", "", reflect.ValueOf(cfg))
	p.section("resource_pools", "", reflect.ValueOf(pool))
	p.section("identity_providers", "", reflect.ValueOf(OIDCConfig{}))
	p.section("log_sinks", "", reflect.ValueOf(LogSinkConfig{}))
	if len(p.silent) > 0 {
		t.Errorf("these fields have no comment: %s", strings.Join(p.silent, ", "))
	}
	got := strings.TrimRight(p.text.String(), "\n") + "\n"
	if *rewrite {
		if err := os.WriteFile(configurationPage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(configurationPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Error("docs/operate/configuration.md differs from the code; run this test with -rewrite and read the diff")
	}
}

// A page is being written.
type page struct {
	text   strings.Builder
	said   map[string]string // by type and field
	silent []string
}

func (p *page) line(text string) { p.text.WriteString(text + "\n") }

// section writes the keys of a struct as a table, and then the tables of the structs in it.
func (p *page) section(title, prefix string, v reflect.Value) {
	p.line("## " + title + "\n")
	p.line("| key | default | meaning |\n|---|---|---|")
	type part struct {
		name  string
		value reflect.Value
	}
	var parts []part
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, comment := field.Tag.Get("yaml"), p.said[v.Type().Name()+"."+field.Name]
		if comment == "" {
			p.silent = append(p.silent, v.Type().Name()+"."+field.Name)
		}
		shown := shownDefault(v.Field(i))
		if section := v.Field(i).Kind() == reflect.Struct; section {
			parts = append(parts, part{prefix + name, v.Field(i)})
			shown = "[below](#" + strings.ReplaceAll(prefix+name, ".", "") + ")"
		} else if name == "resource_pools" || name == "identity_providers" || name == "log_sinks" {
			shown = "[below](#" + name + ")"
		}
		p.line(fmt.Sprintf("| `%s%s` | %s | %s |", prefix, name, shown, comment))
	}
	p.line("")
	for _, x := range parts {
		p.section(x.name, x.name+".", x.value)
	}
}

func shownDefault(v reflect.Value) string {
	if d, ok := v.Interface().(Duration); ok {
		if d == 0 {
			return ""
		}
		return "`" + strings.ReplaceAll(strings.TrimSuffix(time.Duration(d).String(), "m0s")+"m", "h0m", "h") + "`"
	}
	switch {
	case v.Kind() == reflect.Bool || v.Kind() == reflect.Int:
		return fmt.Sprintf("`%v`", v.Interface())
	case v.IsZero():
		return ""
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.String:
		return "`[" + strings.Join(v.Interface().([]string), ", ") + "]`"
	}
	return fmt.Sprintf("`%v`", v.Interface())
}

// comments returns the comments of the fields of this package's structs, each as one line.
func comments(t *testing.T) map[string]string {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, name := range field.Names {
						said[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return said
}
