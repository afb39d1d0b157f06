// Lists texts of which the contrast with what is behind them is below 4.5, which WCAG's level AA asks for.
(() => {
  const luminance = (colour) => {
    const [red, green, blue] = colour.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const channels = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const over = (top, under) => {
    const opacity = top.length > 3 ? top[3] : 1;
    return [0, 1, 2].map((at) => top[at] * opacity + under[at] * (1 - opacity));
  };
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    const colour = channels(getComputedStyle(element).backgroundColor);
    if (colour.length === 4 && colour[3] === 0) return behind(element.parentElement);
    return over(colour, colour.length === 4 ? behind(element.parentElement) : colour);
  };
  const isText = (element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const pale = new Set();
  for (const element of document.querySelectorAll("main *, header *")) {
    if (!isText(element) || !element.getClientRects().length || element.closest("svg, option")) continue;
    const back = behind(element);
    const [text, ground] = [luminance(over(channels(getComputedStyle(element).color), back)), luminance(back)];
    const ratio = (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
    if (ratio < 4.5) pale.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return [...pale];
})()
