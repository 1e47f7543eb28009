// The policy of the pages allows neither style elements nor style attributes, because they could come from a hostile
// text. xterm.js writes both. While a terminal is open, this module converts them to style sheets and to properties of
// elements, which scripts can set and texts cannot.

// sheetIn stands for a style element.
function sheetIn(target: Document): HTMLElement {
  const sheet = new CSSStyleSheet();
  const el = Document.prototype.createElement.call(target, 'i');
  el.hidden = true;
  target.adoptedStyleSheets = [...target.adoptedStyleSheets, sheet];
  const text = { set: (css: string) => sheet.replaceSync(css) };
  Object.defineProperties(el, { textContent: text, innerText: text });
  el.remove = () => {
    target.adoptedStyleSheets = target.adoptedStyleSheets.filter((s) => s !== sheet);
    Element.prototype.remove.call(el);
  };
  return el;
}

// styled lets the style attribute of an element be set.
function styled(el: HTMLElement): HTMLElement {
  el.setAttribute = (name: string, value: string) => {
    if (name === 'style') el.style.cssText = value;
    else Element.prototype.setAttribute.call(el, name, value);
  };
  return el;
}

let users = 0;

// allowStyles lets scripts make styles, until the returned function is called. Preact makes elements in another way, so
// the pages do not notice.
export function allowStyles(target: Document): () => void {
  if (users++ === 0) {
    const make = (tag: string, options?: ElementCreationOptions) => {
      if (tag === 'style') return sheetIn(target);
      const el = Document.prototype.createElement.call(target, tag, options);
      return tag === 'span' ? styled(el) : el;
    };
    target.createElement = make as Document['createElement'];
  }
  return () => {
    if (--users === 0) delete (target as Partial<Document>).createElement;
  };
}
