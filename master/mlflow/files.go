package mlflow

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// filesRoot is the path of the files of all runs and models.
const filesRoot = Prefix + "/api/2.0/mlflow-artifacts/artifacts"

// A folder has the files of a run, of a model that a run has logged, or of any checkpoint that is registered as a version of a model.
type folder struct {
	run        Run
	checkpoint string // "" if no file was logged
	path       string // within the folder; "": the folder itself
	whose      string // in its address: RUN or models/MODEL
	is         auth.Object
}

// folderOf finds the folder that the path of a client names, and the path within it. The number of the experiment does not matter: a
// run that has moved to another project keeps the addresses of its files. Files belong to their checkpoint for who reads them, because
// who may view a version of a model may read its files, and to their run for who writes them.
func (d Deps) folderOf(ctx context.Context, c *rest.Call, sent string, verb auth.Verb) (folder, error) {
	unknown := fault.New(fault.NotFound, "%q is not the path of files: EXPERIMENT/RUN/artifacts/PATH or EXPERIMENT/models/MODEL/artifacts/PATH", fault.Clip(sent))
	parts := strings.Split(sent, "/")
	kind := "runs"
	if len(parts) > 2 && (parts[1] == "models" || parts[1] == "checkpoints") {
		kind, parts = parts[1], append(parts[:1:1], parts[2:]...)
	}
	if len(parts) < 3 || parts[2] != "artifacts" || kind == "checkpoints" && verb != auth.View {
		return folder{}, unknown
	}
	f := folder{path: strings.Join(parts[3:], "/"), whose: parts[1]}
	if f.path != "" {
		if err := checkpoints.CheckLoggedName(f.path); err != nil {
			return f, err
		}
	}
	var err error
	switch kind {
	case "checkpoints":
		f.checkpoint = parts[1]
	case "models":
		f.whose = "models/" + parts[1]
		var m LoggedModel
		if m, err = loggedModelByID(ctx, d.DB, parts[1]); err == nil {
			f.checkpoint = m.Checkpoint
			f.run, err = runByID(ctx, d.DB, m.TrialID)
		}
	default:
		f.run, f.checkpoint, err = d.filesOfRun(ctx, parts[1])
	}
	if err != nil {
		return f, err
	}
	if verb != auth.View || f.checkpoint == "" {
		f.is = asReported(c.Who(), f.run)
		return f, nil
	}
	owner, err := checkpoints.OwnerOfNamed(ctx, d.DB, f.checkpoint)
	f.is = owner.Object()
	return f, err
}

// filesOfRun finds a run, whoever may view it, and the checkpoint with its files.
func (d Deps) filesOfRun(ctx context.Context, id string) (Run, string, error) {
	n, err := strconv.Atoi(id)
	if err != nil || n <= 0 || n > maxID {
		return Run{}, "", fault.New(fault.NotFound, "Run with id=%s not found", fault.Clip(id))
	}
	r, err := runByID(ctx, d.DB, n)
	if err != nil {
		return r, "", err
	}
	checkpoint, err := checkpoints.LoggedOf(ctx, d.DB, r.ID)
	return r, checkpoint, err
}

// file loads the file, or the folder, that the address of a request names below a root.
func (d Deps) file(root string) rest.Object[folder] {
	return rest.Object[folder]{Of: func(f folder) auth.Object { return f.is }, Load: func(ctx context.Context, c *rest.Call) (folder, error) {
		sent, err := sentPath(c, root)
		if err != nil {
			return folder{}, err
		}
		return d.folderOf(ctx, c, sent, c.Line().Verb)
	}}
}

// sentPath is the path of files in the address of a request. Its parts are as the client has sent them: nothing has resolved dots.
func sentPath(c *rest.Call, root string) (string, error) {
	rest, found := strings.CutPrefix(c.PathAsSent(), root+"/")
	sent, err := url.PathUnescape(rest)
	if !found || err != nil {
		return "", fault.New(fault.Invalid, "%q is not a path of files", fault.Clip(c.PathAsSent()))
	}
	return sent, nil
}

func (d Deps) listArtifacts(ctx context.Context, c *rest.Call, req *v1.MLflowListArtifactsRequest) (*v1.MLflowArtifacts, error) {
	r, err := d.run(ctx, c, req.RunID, req.RunUUID)
	if err != nil {
		return nil, err
	}
	id, err := checkpoints.LoggedOf(ctx, d.DB, r.ID)
	if err != nil {
		return nil, err
	}
	dir := strings.Trim(req.Path, "/")
	files, err := d.filesIn(ctx, id, dir)
	for i := range files {
		files[i].Path = path.Join(dir, files[i].Path)
	}
	return &v1.MLflowArtifacts{RootURI: artifactsOf(r.ProjectID, r.ID), Files: files}, err
}

func (d Deps) listFiles(ctx context.Context, c *rest.Call, req *v1.MLflowListFilesRequest) (*v1.MLflowFiles, error) {
	f, err := d.folderOf(ctx, c, strings.Trim(req.Path, "/"), auth.View)
	if err == nil {
		err = c.May(auth.View, f.is)
	}
	if err != nil {
		return nil, err
	}
	files, err := d.filesIn(ctx, f.checkpoint, f.path)
	return &v1.MLflowFiles{Files: files}, err
}

// filesIn lists what is in a folder, with paths relative to it.
func (d Deps) filesIn(ctx context.Context, checkpoint, dir string) ([]v1.MLflowFile, error) {
	list := []v1.MLflowFile{}
	if dir != "" {
		if err := checkpoints.CheckLoggedName(dir); err != nil {
			return nil, err
		}
	}
	if checkpoint == "" {
		return list, nil
	}
	found, err := checkpoints.ListLogged(ctx, d.DB, checkpoint, dir)
	for _, f := range found {
		one := v1.MLflowFile{Path: f.Name, IsFolder: f.Folder}
		if !f.Folder {
			one.Size = new(v1.Bare(f.Size))
		}
		list = append(list, one)
	}
	return list, err
}

func (d Deps) download(_ context.Context, c *rest.Call, f folder) error {
	if f.checkpoint == "" || f.path == "" {
		return fault.New(fault.NotFound, "No such artifact: '%s'", fault.Clip(f.path))
	}
	return d.Files.SendLogged(c, f.checkpoint, f.path)
}

func (d Deps) upload(_ context.Context, c *rest.Call, f folder) error {
	if f.path == "" {
		return fault.New(fault.Invalid, "the path is that of a folder; name a file in it")
	}
	return d.receive(c, f, func(ctx context.Context, content io.ReaderAt, size int64) error {
		f, err := d.placed(ctx, f)
		if err != nil {
			return err
		}
		return d.Files.WriteLogged(ctx, f.checkpoint, f.path, content, size)
	})
}

// receive receives a file or a part of one, and stores it. Whoever may not write it is told before its bytes arrive.
func (d Deps) receive(c *rest.Call, f folder, store func(ctx context.Context, content io.ReaderAt, size int64) error) error {
	within, cancel := c.Within()
	err := d.admitFile(within, c, f)
	cancel()
	if err != nil {
		return err
	}
	body, err := c.Receive(checkpoints.MaxLoggedFile)
	if err != nil {
		return err
	}
	defer body.Close()
	content, size := body.Content()
	ctx, done := c.Follow()
	defer done()
	if err := store(ctx, content, size); err != nil {
		return err
	}
	return send(c, http.StatusOK, v1.Empty{})
}

// placed is a folder with the checkpoint that gets its files, which the first file of a run creates. It fails if the file belongs to a version of a model.
func (d Deps) placed(ctx context.Context, f folder) (folder, error) {
	err := notRegistered(ctx, d.DB, f.checkpoint, f.path)
	if err == nil && f.checkpoint == "" {
		f.checkpoint, err = checkpoints.AddLogged(ctx, d.DB, f.run.ID, checkpoints.LoggedByRun)
	}
	return f, err
}

// admitFile fails if the owner of a run stores too much or a newer attempt has replaced the caller, and stores that the program of a run elsewhere runs.
func (d Deps) admitFile(ctx context.Context, c *rest.Call, f folder) error {
	if f.run.ID == c.Who().TrialID {
		return replaced(c.Who(), f.run.ID, f.run.RunID)
	}
	return d.Accept(ctx, experiments.Trial{ID: f.run.ID, TaskID: f.run.TaskID, OwnerID: f.run.OwnerID}, len(f.path))
}

func (d Deps) deleteFiles(ctx context.Context, _ *rest.Call, f folder, _ *v1.None) (*v1.Empty, error) {
	if f.checkpoint == "" {
		return &v1.Empty{}, nil
	}
	_, err := d.Files.RemoveLogged(ctx, f.checkpoint, f.path)
	return &v1.Empty{}, err
}

// fileRoutes adds the endpoints of files.
func (d Deps) fileRoutes(r *rest.Router) {
	rest.Serve(r, v1.ListMLflowArtifacts, d.listArtifacts)
	rest.Serve(r, v1.ListMLflowFiles, d.listFiles)
	rest.RawOn(r, v1.DownloadMLflowFile, d.file(filesRoot), d.download)
	rest.RawOn(r, v1.UploadMLflowFile, d.file(filesRoot), d.upload)
	rest.ServeOn(r, v1.DeleteMLflowFiles, d.file(filesRoot), d.deleteFiles)
	rest.ServeOn(r, v1.CreateMLflowUpload, d.file(createRoot), d.createUpload)
	rest.RawOn(r, v1.UploadMLflowPart, d.file(partsRoot), d.uploadPart)
	rest.ServeOn(r, v1.FinishMLflowUpload, d.file(finishRoot), d.finishUpload)
	rest.ServeOn(r, v1.AbortMLflowUpload, d.file(abortRoot), d.abortUpload)
	rest.ServeOn(r, v1.GetMLflowLink, d.file(linkRoot), d.link)
}
