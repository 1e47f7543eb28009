// Package entry finds out whether the file that an entrypoint runs is among the files of an experiment. A startup hook may
// make the file, and the image may have it, so the answer is a warning; what this package does not understand is no fault.
package entry

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/spelling"
)

// Missing returns a sentence that names the file of an entrypoint that is not among the files, or "". The paths of
// files are relative to the folder of the code. Without such a folder only the image has files, and none of them is
// below the folder in which the program starts.
func Missing(e expconf.Entrypoint, files []string) string {
	words := e.Args
	if !e.IsList() {
		words = firstCommand(e.Line)
	}
	t := tree{files: slices.Clone(files)}
	t.sort()
	missing := t.program(words)
	if missing != "" && len(files) == 0 {
		missing += ", because no folder is named after the configuration"
	}
	return missing
}

// A tree is the files of the code, and their folders.
type tree struct {
	files   []string
	folders map[string]bool
}

func (t *tree) sort() {
	t.folders = map[string]bool{}
	for i, f := range t.files {
		f = strings.TrimSuffix(path.Clean(f), "/")
		t.files[i] = f
		for dir := path.Dir(f); dir != "." && dir != "/"; dir = path.Dir(dir) {
			t.folders[dir] = true
		}
	}
	slices.Sort(t.files)
}

func (t *tree) has(name string) bool {
	_, found := slices.BinarySearch(t.files, name)
	return found
}

var (
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	python     = regexp.MustCompile(`^python[0-9.]*$`)
	trialClass = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$`)
)

// program checks a command: a launcher, an interpreter with a script, a script, or a trial class alone.
func (t *tree) program(words []string) string {
	for len(words) > 0 && (assignment.MatchString(words[0]) || words[0] == "exec" || words[0] == "env") {
		words = words[1:]
	}
	if len(words) == 0 || opaque(words[0]) {
		return ""
	}
	rest := words[1:]
	switch name := path.Base(words[0]); {
	case len(rest) == 0 && trialClass.MatchString(words[0]):
		return t.class(words[0])
	case python.MatchString(name):
		return t.interpreted(rest)
	case slices.Contains([]string{"torchrun", "deepspeed", "accelerate", "horovodrun"}, name):
		return t.launched(rest)
	case name == "sh" || name == "bash":
		if len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
			return t.script(rest[0])
		}
	case strings.Contains(words[0], "/"):
		return t.script(words[0])
	}
	return ""
}

// interpreted checks the arguments of Python.
func (t *tree) interpreted(words []string) string {
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case opaque(w), w == "-", strings.HasPrefix(w, "-c"):
			return ""
		case w == "-m" && i+1 < len(words):
			if launcher(words[i+1]) {
				return t.launched(words[i+2:])
			}
			return t.module(words[i+1])
		case w == "-W", w == "-X":
			i++
		case !strings.HasPrefix(w, "-"):
			return t.script(w)
		}
	}
	return ""
}

func launcher(module string) bool {
	return strings.HasPrefix(module, "determined.launch.") || slices.Contains([]string{"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"}, module)
}

// launched checks the arguments of a launcher, which begin with options of its own.
func (t *tree) launched(words []string) string {
	for i, w := range words {
		switch {
		case opaque(w):
			return ""
		case python.MatchString(path.Base(w)):
			return t.interpreted(words[i+1:])
		case w == "-m", w == "--module":
			return t.module(next(words, i))
		case w == "--trial":
			return t.class(next(words, i))
		case strings.HasPrefix(w, "-"):
		case strings.HasSuffix(w, ".py"), strings.HasSuffix(w, ".sh"):
			return t.script(w)
		case trialClass.MatchString(w):
			return t.class(w)
		}
	}
	return ""
}

func next(words []string, i int) string {
	if i+1 < len(words) {
		return words[i+1]
	}
	return ""
}

// script checks the path of a script. Python also runs a folder.
func (t *tree) script(name string) string {
	clean := path.Clean(name)
	if opaque(name) || path.IsAbs(name) || clean == "." || strings.HasPrefix(clean, "..") || t.has(clean) || t.folders[clean] {
		return ""
	}
	return said(name, t.near(clean))
}

// near is the file that was probably meant: the only one of this name in another folder, or one with a similar path.
func (t *tree) near(name string) string {
	var same, kind []string
	for _, f := range t.files {
		if path.Base(f) == path.Base(name) {
			same = append(same, f)
		}
		if path.Ext(f) == path.Ext(name) {
			kind = append(kind, f)
		}
	}
	if len(same) == 1 {
		return same[0]
	}
	return spelling.Nearest(name, kind)
}

// module checks a module of python -m. Most modules that the code does not have are installed ones, so only a module of a
// package of the code, or one with a similar name, is a fault.
func (t *tree) module(name string) string {
	if name == "" || opaque(name) || t.importable(name) {
		return ""
	}
	near := t.nearModule(name)
	if top, _, _ := strings.Cut(name, "."); near != "" || strings.Contains(name, ".") && t.folders[top] {
		return said("the module "+name, near)
	}
	return ""
}

// class checks module:Class.
func (t *tree) class(name string) string {
	module, _, ok := strings.Cut(name, ":")
	if !ok || opaque(name) || strings.HasPrefix(module, "determined.") || t.importable(module) {
		return ""
	}
	return said("the module "+module, t.nearModule(module))
}

// importable reports whether Python finds a module in the code.
func (t *tree) importable(module string) bool {
	at := strings.ReplaceAll(module, ".", "/")
	return t.has(at+".py") || t.folders[at]
}

func (t *tree) nearModule(name string) string {
	var all []string
	for _, f := range t.files {
		if base, ok := strings.CutSuffix(f, ".py"); ok {
			all = append(all, strings.ReplaceAll(strings.TrimSuffix(base, "/__init__"), "/", "."))
		}
	}
	return spelling.Nearest(name, all)
}

func said(what, near string) string {
	text := fmt.Sprintf("entrypoint: %s is not among the files of the code", what)
	if near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}
