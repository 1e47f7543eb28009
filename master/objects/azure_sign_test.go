package objects

import "testing"

// TestCredentialsOfTheClusterGoToAzure: users choose the addresses of their configurations.
func TestCredentialsOfTheClusterGoToAzure(t *testing.T) {
	const key, token = "a2V5", "sv=2021-08-06&sig=x"
	for _, x := range []struct {
		url, name   string
		key, tokens bool // whether it gets a key, and a token
	}{
		{"https://lab.blob.core.windows.net", "lab", true, true},
		{"https://lab.blob.core.windows.net", "", true, false}, // whose token is it?
		{"https://other.blob.core.windows.net", "lab", false, false},
		{"https://lab.blob.core.chinacloudapi.cn", "lab", true, true},
		{"http://127.0.0.1:10000/lab", "lab", true, true},
		{"http://lab.blob.core.windows.net", "lab", false, false},
		{"http://192.0.2.7:10000/lab", "lab", false, false},
		{"https://lab.blob.example.com", "lab", false, false},
		{"https://lab.blob.core.windows.net.example.com", "lab", false, false},
		{"https://example.com/lab.blob.core.windows.net", "lab", false, false},
	} {
		a, err := AzureByURL(x.url, "")
		if err != nil {
			t.Fatal(err)
		}
		for variable, is := range map[string]struct {
			value string
			want  bool
		}{"AZURE_STORAGE_KEY": {key, x.key}, "AZURE_STORAGE_SAS_TOKEN": {token, x.tokens}} {
			t.Run(x.url+" "+x.name+" "+variable, func(t *testing.T) {
				for _, other := range []string{"AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN"} {
					t.Setenv(other, "")
				}
				t.Setenv("AZURE_STORAGE_ACCOUNT", x.name)
				t.Setenv(variable, is.value)
				if by, err := a.SignedByEnvironment(); err != nil || by.Signed() != is.want {
					t.Errorf("signed: %v, %v", by.Signed(), err)
				}
			})
		}
		by, err := a.SignedBy([]byte(`{"credential": "` + token + `"}`))
		if at := a.atAzure(); by.Signed() != at || (err == nil) != at {
			t.Errorf("%s with the secret: signed %v, %v", x.url, by.Signed(), err)
		}
	}
}
