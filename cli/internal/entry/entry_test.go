package entry_test

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/cli/internal/entry"
	"github.com/detent-ml/detent/master/expconf"
)

var files = []string{"train.py", "model_def.py", "run.sh", "data/x.bin", "src/deep/other.py", "pkg/__init__.py", "pkg/mod.py", "space/sub/a.py", "app/__main__.py"}

func TestMissing(t *testing.T) {
	for line, want := range map[string]string{
		// What is there.
		"python3 train.py": "", "python train.py --lr 1": "", "/usr/bin/python3.12 -u ./train.py": "", "python3 -W ignore train.py": "",
		"python3 -m pkg.mod": "", "python3 -m pkg": "", "python3 app": "", "model_def:Trial": "", "pkg.mod:Trial": "", "space.sub.a:T": "",
		"bash run.sh": "", "./run.sh": "", "python3 src/deep/other.py": "", "python3 src/../train.py": "",
		"python3 -m determined.launch.torch_distributed python3 train.py":                        "",
		"python3 -m determined.launch.torch_distributed --trial model_def:Trial":                 "",
		"python3 -m determined.launch.torch_distributed --nproc_per_node 2 -- train.py --x y.py": "",
		// What is not.
		"python3 trian.py":                          "trian.py is not among the files of the code; did you mean train.py?",
		"LR=1 exec python3 -u trian.py --c 'a b'":   "trian.py is not among the files of the code; did you mean train.py?",
		"python3 trian.py 2>&1 | tee log":           "trian.py is not among the files of the code; did you mean train.py?",
		"python3 other.py":                          "other.py is not among the files of the code; did you mean src/deep/other.py?",
		"python3 src/dep/other.py":                  "src/dep/other.py is not among the files of the code; did you mean src/deep/other.py?",
		"python3 'my script.py'":                    "my script.py is not among the files of the code",
		"python3 zzzzzzzzz.py":                      "zzzzzzzzz.py is not among the files of the code",
		"./rnu.sh":                                  "./rnu.sh is not among the files of the code; did you mean run.sh?",
		"bash scripts/run.sh":                       "scripts/run.sh is not among the files of the code; did you mean run.sh?",
		"python3 -m pkg.mdo":                        "the module pkg.mdo is not among the files of the code; did you mean pkg.mod?",
		"python3 -m pkg.quite_other":                "the module pkg.quite_other is not among the files of the code",
		"python3 -m trian":                          "the module trian is not among the files of the code; did you mean train?",
		"model_dfe:Trial":                           "the module model_dfe is not among the files of the code; did you mean model_def?",
		"wholly_other:Trial":                        "the module wholly_other is not among the files of the code",
		"torchrun --nproc-per-node 2 trian.py":      "trian.py is not among the files of the code; did you mean train.py?",
		"python3 -m torch.distributed.run trian.py": "trian.py is not among the files of the code; did you mean train.py?",
		"python3 -m determined.launch.horovod --fusion 1 --trial model_dfe:T":     "the module model_dfe is not among the files of the code; did you mean model_def?",
		"python3 -m determined.launch.torch_distributed model_dfe:T":              "the module model_dfe is not among the files of the code; did you mean model_def?",
		"python3 -m determined.launch.torch_distributed -- python3 -u trian.py x": "trian.py is not among the files of the code; did you mean train.py?",
		// What only the shell, the image or the node knows.
		"python3 /opt/x.py": "", "python3 ../x.py": "", "python3 $SCRIPT": "", "$PYTHON trian.py": "", "python3 ${X}.py": "", "python3 ~/x.py": "",
		`python3 "$DIR/x.py"`: "", "python3 *.py": "", "cd src && python3 x.py": "", "pip install x; python3 x.py": "", "python3 x.py || true": "",
		"(python3 x.py)": "", "python3 -c 'import x'": "", "python3 -": "", "python3": "", "": "", "python3 'x.py": "", "nvidia-smi": "",
		"python3 -m torch.utils.collect_env": "", "python3 -m http.server": "", "bash -c 'python3 x.py'": "", "sh $X": "", "echo trian.py": "",
		"python3 -m determined.launch.torch_distributed $X trian.py": "", "# python3 x.py": "", `python3 x\ y.py`: "", "determined.x:T": "",
	} {
		if want != "" {
			want = "entrypoint: " + want
		}
		if got := entry.Missing(expconf.Entrypoint{Line: line}, files); got != want {
			t.Errorf("%s:\n got %q\nwant %q", line, got, want)
		}
		// Without a shell there is no quoting.
		if !strings.ContainsAny(line, `'"\$~*;|&()#`) && !strings.Contains(line, "=") && !strings.HasSuffix(line, ":Trial") {
			if got := entry.Missing(expconf.Entrypoint{Args: append([]string{}, strings.Fields(line)...)}, files); got != want {
				t.Errorf("%s, as a list:\n got %q\nwant %q", line, got, want)
			}
		}
	}
	if got := entry.Missing(expconf.Entrypoint{Line: "python3 x.py"}, nil); got != "entrypoint: x.py is not among the files of the code, because no folder is named after the configuration" {
		t.Errorf("without a folder: %s", got)
	}
	for _, line := range []string{"python3 /opt/x.py", "python3 -m pkg.train", "nvidia-smi", "train"} {
		if got := entry.Missing(expconf.Entrypoint{Line: line}, nil); got != "" {
			t.Errorf("%s without a folder: %s", line, got)
		}
	}
}
