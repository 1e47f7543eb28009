package v1

// The endpoints of templates.
var (
	ListTemplates = Endpoint[GetTemplatesRequest, GetTemplatesResponse]{Method: "GET", Path: "/templates", Access: ByBoth, Object: KindTemplate, Verb: View, List: true,
		Summary: "List templates"}
	GetTemplate = Endpoint[None, TemplateResponse]{Method: "GET", Path: "/templates/:name", Access: ByBoth, Object: KindTemplate, Verb: View,
		Summary: "Get a template"}
	CreateTemplate = Endpoint[Template, TemplateResponse]{Method: "POST", Path: "/templates/:name", Access: ByUsers, Object: KindTemplate, Verb: Create, BodyLimit: ConfigBody,
		Summary: "Create a template"}
	PutTemplate = Endpoint[Template, TemplateResponse]{Method: "PUT", Path: "/templates/:name", Access: ByUsers, Object: KindTemplate, Verb: Change, Again: true, BodyLimit: ConfigBody,
		Summary: "Create a template, or replace its configuration"}
	ChangeTemplate = Endpoint[Struct, TemplateResponse]{Method: "PATCH", Path: "/templates/:name", Access: ByUsers, Object: KindTemplate, Verb: Change, Again: true, BodyLimit: ConfigBody,
		Summary: "Replace the configuration of a template with the body"}
	DeleteTemplate = Endpoint[None, None]{Method: "DELETE", Path: "/templates/:name", Access: ByUsers, Object: KindTemplate, Verb: Change,
		Summary: "Delete a template"}
	RenameTemplate = Endpoint[PatchTemplateNameRequest, TemplateResponse]{Method: "PATCH", Path: "/template/rename", Access: ByUsers, Object: KindTemplate, Verb: Change, NamedIn: Body,
		Summary: "Rename a template"}
)
