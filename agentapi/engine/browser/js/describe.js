function () {
  const cut = (text, n) => (text || '').slice(0, 4 * n).replace(/\s+/g, ' ').trim().slice(0, n);
  const label = el => {
    if (el.labels && el.labels.length) return el.labels[0].textContent;
    return el.getAttribute('aria-label') || el.getAttribute('title') || el.getAttribute('alt') || el.getAttribute('name');
  };
  const text = el => {
    if (el.localName === 'select') return label(el) + ': ' + Array.from(el.options).slice(0, 20).map(o => o.text.trim()).join(' | ');
    if (el.localName === 'input' && ['submit', 'button', 'reset'].includes(el.type)) return el.value || label(el);
    if (['input', 'textarea'].includes(el.localName)) return label(el);
    const own = cut(el.textContent, 100);
    if (own) return own;
    const image = el.querySelector('img[alt], svg title');
    return label(el) || (image && (image.getAttribute('alt') || image.textContent)) || '';
  };
  const elements = [];
  for (let i = 0; i < this.length; i++) {
    const el = this[i];
    const one = {index: i, tag: el.localName, text: cut(text(el), 100)};
    const placeholder = el.getAttribute('placeholder'), href = el.getAttribute('href');
    if (placeholder) one.placeholder = cut(placeholder, 200);
    if (href) one.href = href.slice(0, 500);
    elements.push(one);
  }
  const px = n => Math.round(n) || 0, root = document.documentElement, view = globalThis.visualViewport;
  return {
    url: location.href.slice(0, 2000), title: document.title.slice(0, 300), interactive_elements: elements,
    viewport: {width: px(view ? view.width : innerWidth), height: px(view ? view.height : innerHeight)},
    page: {width: px(root && root.scrollWidth), height: px(root && root.scrollHeight)},
    scroll: {x: px(scrollX), y: px(scrollY)},
  };
}
