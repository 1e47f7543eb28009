package deploy

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers"
)

// What a machine may lack of Python.
const (
	pythonItself = "Python 3"
	pythonVenv   = "Python's module venv"
)

// A lacking is what a cluster needs and a machine does not have.
type lacking struct {
	own     []string // parts of Detent
	servers []servers.Missing
	python  string
	system  system
	folder  string // in which det looks for archives
}

// withoutArchives removes the servers that det can download, and returns their names.
func (l *lacking) withoutArchives() (names []string) {
	l.servers = slices.DeleteFunc(l.servers, func(m servers.Missing) bool {
		if len(m.Files) > 0 {
			names = append(names, m.Name)
		}
		return len(m.Files) > 0
	})
	return names
}

// text names everything that is missing, and what to do; "" if nothing is missing.
func (l lacking) text() string {
	var names, files, packages, others, seen []string
	for _, m := range l.servers {
		names = append(names, fmt.Sprintf("%s (%s or later)", m.Title, m.Oldest))
		switch {
		case len(m.Files) > 0:
			files = append(files, m.Files...)
		case m.Name == "postgres":
			packages = append(packages, m.Name)
		default:
			others = append(others, fmt.Sprintf("%s %s or later, as %s on PATH", m.Title, m.Oldest, m.Name))
		}
		seen = append(seen, m.Seen...)
	}
	if l.python != "" {
		names, packages = append(names, l.python), append(packages, l.python)
	}
	names = append(names, l.own...)
	if len(names) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "This machine lacks %s.\n", list(names))
	block := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n  %s\n", title, strings.Join(lines, "\n  "))
		}
	}
	block("Not suitable:", seen)
	block(fmt.Sprintf("Download, and leave packed, into %s (or into another folder: --servers FOLDER):", l.folder), files)
	block("Install:", append(l.system.install(packages), others...))
	if len(l.own) > 0 {
		block("Detent's own parts:", []string{l.system.ownParts()})
	}
	b.WriteString("\nThen run the same command again.")
	if len(files) > 0 {
		// With all its flags: a cluster without them would be another one.
		b.WriteString(" Or add --fetch to it: det then downloads what it can, and verifies it.")
	}
	return b.String()
}

// list joins words: "a, b and c".
func list(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// A system is what a message needs to know of this machine.
type system struct {
	platform string   // "linux_amd64"
	families []string // of its distribution, the narrowest first: "ubuntu", "debian"
	root     bool
}

func thisSystem() system {
	s := system{platform: runtime.GOOS + "_" + runtime.GOARCH, root: os.Geteuid() == 0}
	if runtime.GOOS == "darwin" {
		s.families = []string{"darwin"}
	}
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return s
	}
	s.families = append(s.families, families(string(text))...)
	return s
}

// families reads the name of a distribution, and of those that it is like.
func families(osRelease string) (names []string) {
	values := map[string]string{}
	for line := range strings.Lines(osRelease) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name] = strings.Trim(value, `"'`)
	}
	return strings.Fields(values["ID"] + " " + values["ID_LIKE"])
}

// installers are the commands of distributions, and their names of packages.
var installers = map[string]struct{ command, postgres, python, venv string }{
	"debian": {"apt-get install", "postgresql", "python3 python3-venv", "python3-venv"},
	"fedora": {"dnf install", "postgresql-server", "python3", "python3"},
	"suse":   {"zypper install", "postgresql-server", "python3", "python3"},
	"arch":   {"pacman -S", "postgresql", "python", "python"},
	"alpine": {"apk add", "postgresql", "python3", "python3"},
	"darwin": {"brew install", "postgresql", "python3", "python3"},
}

// install are the commands that install packages.
func (s system) install(what []string) []string {
	if len(what) == 0 {
		return nil
	}
	for _, family := range s.families {
		by, ok := installers[family]
		if !ok {
			continue
		}
		var names []string
		for _, one := range what {
			names = append(names, map[string]string{"postgres": by.postgres, pythonItself: by.python, pythonVenv: by.venv}[one])
		}
		command := by.command + " " + strings.Join(names, " ")
		if !s.root && family != "darwin" {
			command = "sudo " + command
		}
		return []string{command}
	}
	for i, one := range what {
		what[i] = cmp.Or(map[string]string{"postgres": "PostgreSQL, with initdb"}[one], one)
	}
	return []string{list(what) + ", with this system's package manager"}
}

// ownParts says where the parts of Detent are.
func (s system) ownParts() string {
	if !strings.HasPrefix(s.platform, "linux_") {
		return "a release has them for Linux only; in a checkout, ./justw build makes them"
	}
	return fmt.Sprintf("unpack det-master_%s_%s.tar.gz of the release, and run the det in it", v1.Version, s.platform)
}
