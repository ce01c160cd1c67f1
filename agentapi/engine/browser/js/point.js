function (index) {
  const el = this[index];
  if (!el || !el.isConnected) return {found: false};
  el.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  const box = el.getClientRects()[0] || el.getBoundingClientRect();
  let x = box.left + box.width / 2, y = box.top + box.height / 2;
  const root = el.getRootNode();
  const hit = root.elementFromPoint && root.elementFromPoint(x, y);
  let covered = !hit || !(hit === el || el.contains(hit) || hit.contains(el) && hit.localName === 'label' ||
    el.labels && Array.from(el.labels).some(l => l.contains(hit)));
  // A frame's place is added to it.
  for (let view = el.ownerDocument.defaultView; view && view.frameElement; view = view.parent) {
    const frame = view.frameElement.getBoundingClientRect();
    x += frame.left + view.frameElement.clientLeft;
    y += frame.top + view.frameElement.clientTop;
  }
  if (x < 0 || y < 0) covered = true;
  let href = '';
  if (el.localName === 'a' && el.hasAttribute('href')) href = el.href.slice(0, 2000);
  return {found: true, x, y, covered, href, file: el.localName === 'input' && el.type === 'file'};
}
