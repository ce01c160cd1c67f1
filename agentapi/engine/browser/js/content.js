(links, limit) => {
  // The page as Markdown: its text with headings, lists, tables and code. What is not
  // content is left out: scripts, forms' controls, what is not shown.
  const skip = new Set(['script', 'style', 'noscript', 'template', 'svg', 'canvas', 'head', 'iframe', 'object', 'embed',
    'audio', 'video', 'select', 'input', 'textarea', 'button', 'dialog', 'link', 'meta']);
  const block = new Set(['p', 'div', 'section', 'article', 'main', 'header', 'footer', 'nav', 'aside', 'ul', 'ol', 'dl', 'dt',
    'dd', 'table', 'form', 'fieldset', 'figure', 'figcaption', 'address', 'details', 'summary', 'blockquote', 'hr', 'body']);
  let out = [], size = 0, left = 300000, cut = false;
  const put = text => {
    if (size + text.length > limit) { text = text.slice(0, Math.max(0, limit - size)); cut = true; }
    size += text.length;
    out.push(text);
  };
  const flat = text => text.replace(/\s+/g, ' ');
  const address = href => /^(https?|mailto|tel):/.test(href) ? href.slice(0, 1000) : '';
  const children = (node, state) => {
    for (let child = node.firstChild; child && left > 0 && !cut; child = child.nextSibling) walk(child, state);
  };
  const walk = (node, state) => {
    if (--left <= 0 || cut) { cut = true; return; }
    if (node.nodeType === 3) { put(state.pre ? node.data : flat(node.data.slice(0, limit))); return; }
    if (node.nodeType !== 1) return;
    const tag = node.localName;
    if (skip.has(tag) || node.hidden || node.getAttribute('aria-hidden') === 'true') return;
    if (node.checkVisibility && !node.checkVisibility()) return;
    if (node.shadowRoot) children(node.shadowRoot, state);
    const heading = /^h([1-6])$/.exec(tag);
    if (heading) { put('\n\n' + '#'.repeat(+heading[1]) + ' '); children(node, state); put('\n\n'); return; }
    switch (tag) {
      case 'br': put('\n'); return;
      case 'hr': put('\n\n---\n\n'); return;
      case 'li': put('\n' + '  '.repeat(Math.max(0, state.depth - 1)) +
        (node.parentElement && node.parentElement.localName === 'ol' ? '1. ' : '- ')); children(node, state); return;
      case 'ul': case 'ol': put('\n'); children(node, {...state, depth: state.depth + 1}); put('\n'); return;
      case 'pre': put('\n\n```\n'); children(node, {...state, pre: true}); put('\n```\n\n'); return;
      case 'code': if (state.pre) { children(node, state); return; } put('`'); children(node, state); put('`'); return;
      case 'strong': case 'b': put('**'); children(node, state); put('**'); return;
      case 'tr': put('\n|'); children(node, state); return;
      case 'td': case 'th': put(' '); children(node, state); put(' |'); return;
      case 'img': if (links && node.alt) put('![' + flat(node.alt).slice(0, 200) + '](' + address(node.src) + ')'); return;
      case 'a': {
        const at = links ? address(node.href || '') : '';
        if (!at) { children(node, state); return; }
        put('['); children(node, state); put('](' + at + ')'); return;
      }
    }
    const own = block.has(tag);
    if (own) put('\n\n');
    children(node, state);
    if (own) put('\n\n');
  };
  if (document.body) {
    try { walk(document.body, {depth: 0, pre: false}); } catch (e) { cut = true; }
  }
  let html = size;
  try {
    if (document.getElementsByTagName('*').length < 50000) html = document.documentElement.outerHTML.length;
  } catch (e) { /* too long for one string */ }
  return {url: location.href.slice(0, 2000), markdown: out.join(''), html, cut};
}
