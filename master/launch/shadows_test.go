package launch

import (
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/spool"
	"github.com/detent-ml/detent/master/v1"
)

// TestFilesInPlaceOfPackages: who names a file after a package that the code imports is told so.
func TestFilesInPlaceOfPackages(t *testing.T) {
	t.Parallel()
	disk := spool.New(t.TempDir(), 64<<20)
	for name, c := range map[string]struct {
		files map[string]string
		want  string // "": no remark
	}{
		"another name":              {map[string]string{"train.py": "import torch", "my_torch.py": "", "torch.txt": ""}, ""},
		"a file":                    {map[string]string{"train.py": "import os\nimport torch.nn as nn\n", "torch.py": ""}, "the code has torch.py, which Python imports in place of the package torch; train.py would not"},
		"a package":                 {map[string]string{"a/b.py": "def f():\n\tfrom tensorflow import keras\n", "tensorflow/__init__.py": ""}, "tensorflow/__init__.py, which Python imports in place of the package tensorflow; a/b.py"},
		"a list of imports":         {map[string]string{"train.py": "import os, numpy as np, torch", "torch.py": ""}, "torch.py"},
		"a folder without a file":   {map[string]string{"train.py": "import torch", "torch/data.csv": "1"}, ""},
		"below another folder":      {map[string]string{"train.py": "import torch", "lib/torch.py": ""}, ""},
		"nobody imports it":         {map[string]string{"train.py": "import torchvision\n# import torch\nfrom .torch import x", "torch.py": "import torch"}, ""},
		"Detent's own package":      {map[string]string{"train.py": "", "determined/__init__.py": ""}, "determined/__init__.py, which Python imports in place of the package determined; Detent's package would"},
		"a program that is no text": {map[string]string{"train.py": "\xff\xfe import torch\x00", "torch.py": ""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			room, err := disk.Reserve(t.Context(), "me", 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			defer room.Close()
			code, err := NewCode(room)
			if err != nil {
				t.Fatal(err)
			}
			defer code.Close()
			for path, text := range c.files {
				if err := code.Content([]byte(text)); err != nil {
					t.Fatal(err)
				}
				if err := code.File(v1.File{Path: path, Type: fileRegular}); err != nil {
					t.Fatal(err)
				}
			}
			if err := code.Arrived(); err != nil {
				t.Fatal(err)
			}
			files, err := code.list()
			if err != nil {
				t.Fatal(err)
			}
			if err := checkCode(files); err != nil {
				t.Fatal(err)
			}
			remarks, err := code.shadows(files)
			if err != nil || (c.want == "") != (len(remarks) == 0) || !slices.ContainsFunc(append(remarks, ""), func(r string) bool { return strings.Contains(r, c.want) }) {
				t.Errorf("%q, %v; want %q", remarks, err, c.want)
			}
		})
	}
}
