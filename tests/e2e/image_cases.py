"""Cases of convolutions and pools of lines, images and volumes."""
import numpy as np

from op_cases import case, normal


def padded(x, p, value=0):
    return np.pad(x, ((0, 0), (p[0], p[0]), (p[1], p[1]), (0, 0)), constant_values=value)


def seen(x, size, strides, dilation=(1, 1)):
    view = np.lib.stride_tricks.sliding_window_view(
        x, ((size[0] - 1) * dilation[0] + 1, (size[1] - 1) * dilation[1] + 1), axis=(1, 2))
    return view[:, ::strides[0], ::strides[1], :, ::dilation[0], ::dilation[1]]


def convolution(x, w, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
    view = seen(padded(x, padding), w.shape[:2], strides, dilation)
    parts = [np.einsum("bhwcyx,yxcn->bhwn", v, u)
             for v, u in zip(np.split(view, groups, 3), np.split(w, groups, 3))]
    return np.concatenate(parts, -1)


def images():
    x = normal(2, 9, 11, 6)
    image = "x: Tensor[B, 9, 11, 6, f32]"
    case(image, "pad(x, ((0, 0), (1, 2), (3, 0), (0, 0))), pad(x, ((0, 0), (0, 0), (0, 0), (0, 1)), -1.5)", [x],
         lambda x: (np.pad(x, ((0, 0), (1, 2), (3, 0), (0, 0))),
                    np.pad(x, ((0, 0), (0, 0), (0, 0), (0, 1)), constant_values=-1.5)))
    case(image, "windows(x, 3, axis=1, step=2, dilation=3), windows(x, 2)", [x],
         lambda x: (np.lib.stride_tricks.sliding_window_view(x, 7, 1)[:, ::2, ..., ::3],
                    np.lib.stride_tricks.sliding_window_view(x, 2, 3)), 0)
    for y, z, n, options in ((3, 3, 8, {}), (3, 3, 8, dict(strides=(2, 2), padding=(1, 1))),
                             (1, 1, 5, {}), (1, 1, 5, dict(strides=(2, 3))), (7, 5, 4, dict(padding=(3, 2))),
                             (3, 2, 8, dict(dilation=(2, 3), padding=(2, 0))),
                             (3, 3, 6, dict(groups=6, padding=(1, 1))),
                             (3, 3, 12, dict(groups=3, strides=(1, 2))), (2, 2, 12, dict(groups=6))):
        w = normal(y, z, 6 // options.get("groups", 1), n)
        text = "".join(f", {key}={value}" for key, value in options.items())
        case(f"{image}, w: Tensor[{y}, {z}, {w.shape[2]}, {n}, f32], b: Tensor[{n}, f32]",
             f"relu(conv2d(x, w, b{text}))", [x, w, normal(n)],
             lambda x, w, b, options=options: np.maximum(convolution(x, w, **options) + b, 0),
             units=2 if n in (5, 12) else None)
    # Rows of many windows, which products read in place.
    wide, beside = normal(2, 12, 61, 6), normal(2, 12, 61, 40)
    for y, z, options in ((3, 3, dict(padding=(1, 1))), (5, 3, dict(padding=(4, 1), dilation=(2, 1)))):
        text = "".join(f", {key}={value}" for key, value in options.items())
        for extents in ("B, 12, 61, 6", "B, H, W, 6"):
            condition = " where H >= 1, W >= 1" if "H" in extents else ""
            case(f"x: Tensor[{extents}, f32], w: Tensor[{y}, {z}, 6, 40, f32], b: Tensor[40, f32], "
                 f"r: Tensor[{extents[:-1]}40, f32]{condition}", f"relu(conv2d(x, w, b{text}) + r)",
                 [wide, normal(y, z, 6, 40), normal(40), beside],
                 lambda x, w, b, r, options=options: np.maximum(convolution(x, w, **options) + b + r, 0), units=2)
    case("x: Tensor[B, 12, 61, 6, f32], w: Tensor[4, 5, 6, 7, f32]", "conv2d(x, w, strides=(3, 2), padding=(2, 2))",
         [wide, normal(4, 5, 6, 7)], lambda x, w: convolution(x, w, (3, 2), (2, 2)))
    case("x: Tensor[B, L, 6, f32], w: Tensor[4, 6, 9, f32] where L >= 8", "conv1d(x, w, padding=1)",
         [wide[0], normal(4, 6, 9)], lambda x, w: convolution(x[:, None], w[None], padding=(0, 1))[:, 0])
    w = normal(3, 3, 6, 8)
    case("x: Tensor[B, 6, H, W, f32], w: Tensor[8, 6, 3, 3, f32] where H >= 1, W >= 1",
         "conv2d_nchw(x, w, padding=(1, 1))",
         [np.moveaxis(x, 3, 1), np.transpose(w, (3, 2, 0, 1))],
         lambda x,
         w: np.moveaxis(convolution(np.moveaxis(x, 1, 3), np.transpose(w, (2, 3, 1, 0)), padding=(1, 1)), 3, 1))
    line = normal(2, 20, 6)
    case("x: Tensor[B, 20, 6, f32], w: Tensor[4, 6, 5, f32]", "conv1d(x, w, stride=2, padding=2)",
         [line, normal(4, 6, 5)],
         lambda x, w: convolution(x[:, None], w[None], strides=(1, 2), padding=(0, 2))[:, 0])
    case(image, "max_pool2d(x, (3, 3), strides=(2, 2), padding=(1, 1)), max_pool2d(x, (2, 2))", [x],
         lambda x: (seen(padded(x, (1, 1), -np.inf), (3, 3), (2, 2)).max((4, 5)), seen(x, (2, 2), (2, 2)).max((4, 5))),
         units=0)
    case(image, "avg_pool2d(x, (3, 2)), avg_pool2d(x, (3, 3), strides=(1, 1), padding=(1, 1))", [x],
         lambda x: (seen(x, (3, 2), (3, 2)).mean((4, 5)), seen(padded(x, (1, 1)), (3, 3), (1, 1)).mean((4, 5))),
         units=2)

    case("x: Tensor[1, 4, 4, 2, f32]", "cast(max_pool2d(cast(x, f8e4m3), (2, 2), padding=(1, 1)), f32)",
         [-np.arange(1, 9, dtype=np.float32).repeat(4).reshape(1, 4, 4, 2)],
         lambda x: seen(padded(x, (1, 1), -np.inf), (2, 2), (2, 2)).max((4, 5)), 0)

    def adaptive(x, size):
        for axis, count in zip((1, 2), size):
            extent = x.shape[axis]
            x = np.stack([np.take(x, range(i * extent // count, -(-(i + 1) * extent // count)), axis).mean(axis)
                          for i in range(count)], axis)
        return x

    case(image, "adaptive_avg_pool2d(x, (1, 1)), adaptive_avg_pool2d(x, (4, 3))", [x],
         lambda x: (adaptive(x, (1, 1)), adaptive(x, (4, 3))), units=2)


def windows_of(x, size, strides, dilation=None):
    """The windows of images of any number of axes: [B, axes…, C, size…]."""
    dilation = dilation or (1,) * len(size)
    axes = tuple(range(1, len(size) + 1))
    view = np.lib.stride_tricks.sliding_window_view(x, [(n - 1) * d + 1 for n, d in zip(size, dilation)], axis=axes)
    return view[(slice(None), *(slice(None, None, s) for s in strides), slice(None),
                 *(slice(None, None, d) for d in dilation))]


def convolved(x, w, strides, padding, dilation, groups):
    """Convolution along any number of axes, from its definition."""
    axes = w.ndim - 2
    x = np.pad(x, [(0, 0), *((p, p) for p in padding), (0, 0)])
    view = windows_of(x, w.shape[:axes], strides, dilation)
    of, window = "abd"[:axes], "xyz"[:axes]
    parts = [np.einsum(f"i{of}c{window},{window}cn->i{of}n", v, u)
             for v, u in zip(np.split(view, groups, axes + 1), np.split(w, groups, -1))]
    return np.concatenate(parts, -1)


def deconvolved(x, w, strides, padding, extra, dilation, groups):
    """The transpose of a convolution: each element of x is added, times the weights, where it came from."""
    axes = w.ndim - 2
    size, results = w.shape[:axes], w.shape[axes] * groups
    full = [(n - 1) * s + d * (k - 1) + 1 + e for n, s, d, k, e in zip(x.shape[1:], strides, dilation, size, extra)]
    y = np.zeros((x.shape[0], *full, results))
    for tap in np.ndindex(*size):
        at = tuple(slice(t * d, t * d + (n - 1) * s + 1, s)
                   for t, d, n, s in zip(tap, dilation, x.shape[1:], strides))
        y[(slice(None), *at)] += np.concatenate(
            [v @ u.T for v, u in zip(np.split(x, groups, -1), np.split(w[tap], groups, -1))], -1)
    return y[(slice(None), *(slice(p, n - p) for p, n in zip(padding, full)))]


def options_of(axes, **options):
    """Options of a function of that many axes as they are written: those of one axis are numbers."""
    names = {"strides": "stride"} if axes == 1 else {}
    return "".join(f", {names.get(key, key)}={value[0] if axes == 1 and key != 'groups' else value}"
                   for key, value in options.items())


def volumes():
    """Convolutions, their transposes and pools of one to three axes."""
    for extents, size, n, o in (
            ((13,), (4,), 4, dict(strides=(3,), padding=(2,))), ((13,), (3,), 6, dict(dilation=(2,), groups=2)),
            ((7, 6), (3, 2), 5, dict(strides=(2, 1))), ((7, 6), (3, 3), 6, dict(padding=(1, 1), groups=6)),
            ((5, 6, 7), (2, 3, 3), 5, dict(strides=(1, 2, 2), padding=(1, 0, 1))),
            ((5, 6, 7), (3, 3, 3), 6, dict(dilation=(2, 1, 2), groups=3))):
        axes, groups = len(extents), o.get("groups", 1)
        even = lambda key, fill, o=o, axes=axes: o.get(key, (fill,) * axes)
        x, bias = normal(2, *extents, 6), normal(n)
        w = normal(*size, 6 // groups, n)
        numbers = ", ".join(map(str, extents))
        known = f"x: Tensor[B, {numbers}, 6, f32], w: Tensor[{', '.join(map(str, w.shape))}, f32], b: Tensor[{n}, f32]"
        case(known, f"conv{axes}d(x, w, b{options_of(axes, **o)})", [x, w, bias],
             lambda x, w, b, e=even,
             g=groups: convolved(x, w, e("strides", 1), e("padding", 0), e("dilation", 1), g) + b,
             units=4)
        # From the result's form to that of the image.
        t = normal(*size, n // groups, 6)
        turned = known.replace(f"w: Tensor[{', '.join(map(str, w.shape))}", f"w: Tensor[{', '.join(map(str, t.shape))}")
        strides = even("strides", 1)
        extra = tuple(s - 1 for s in strides)
        case(turned, f"conv_transpose{axes}d(x, w, b{options_of(axes, **o, output_padding=extra)})", [x, t, bias],
             lambda x, w, b, e=even, g=groups, extra=extra: deconvolved(
                 x, w, e("strides", 1), e("padding", 0), extra, e("dilation", 1), g) + b, units=4)
    # Padding beyond the reach of the weights takes elements away; sizes that are known at the call.
    x, w = normal(2, 5, 4, 6), normal(2, 1, 3, 6)
    signature = "x: Tensor[B, H, W, 6, f32], w: Tensor[2, 1, 3, 6, f32] where H >= 3, W >= 3"
    case(signature, "conv_transpose2d(x, w, padding=(2, 1), strides=(2, 3))", [x, w],
         lambda x, w: deconvolved(x, w, (2, 3), (2, 1), (0, 0), (1, 1), 1))
    image = normal(2, 6, 7, 9)
    case("x: Tensor[B, 6, H, W, f32], w: Tensor[6, 3, 2, 1, f32] where H >= 1, W >= 1",
         "conv_transpose2d_nchw(x, w, strides=(2, 1))", [image, np.ascontiguousarray(np.transpose(w, (3, 2, 0, 1)))],
         lambda x,
         w: np.moveaxis(deconvolved(np.moveaxis(x, 1, 3), np.transpose(w, (2, 3, 1, 0)), (2, 1), (0, 0), (0, 0),
                                              (1, 1), 1), 3, 1))
    line, volume = normal(2, 13, 3), normal(2, 6, 7, 8, 3)
    least = lambda x, *widths: np.pad(x, [(0, 0), *((n, n) for n in widths), (0, 0)], constant_values=-np.inf)
    zeros = lambda x, *widths: np.pad(x, [(0, 0), *((n, n) for n in widths), (0, 0)])
    case("x: Tensor[B, L, 3, f32] where L >= 4", "max_pool1d(x, 3), max_pool1d(x, 3, stride=2, padding=1, dilation=2), "
         "avg_pool1d(x, 4), avg_pool1d(x, 4, stride=3, padding=2)", [line],
         lambda x: (windows_of(x, (3,), (3,)).max(3), windows_of(least(x, 1), (3,), (2,), (2,)).max(3),
                    windows_of(x, (4,), (4,)).mean(3), windows_of(zeros(x, 2), (4,), (3,)).mean(3)), units=2)
    case("x: Tensor[B, 13, 3, f32]", "adaptive_avg_pool1d(x, 5)", [line],
         lambda x: np.stack([x[:, i * 13 // 5:-(-(i + 1) * 13 // 5)].mean(1) for i in range(5)], 1))
    case("x: Tensor[B, D, H, W, 3, f32] where D >= 2, H >= 2, W >= 3",
         "max_pool3d(x, (2, 2, 3)), max_pool3d(x, (2, 3, 3), strides=(1, 2, 2), padding=(1, 1, 0)), "
         "avg_pool3d(x, (2, 2, 2)), avg_pool3d(x, (3, 2, 2), strides=(2, 1, 2), padding=(1, 0, 1))", [volume],
         lambda x: (windows_of(x, (2, 2, 3), (2, 2, 3)).max((5, 6, 7)),
                    windows_of(least(x, 1, 1, 0), (2, 3, 3), (1, 2, 2)).max((5, 6, 7)),
                    windows_of(x, (2, 2, 2), (2, 2, 2)).mean((5, 6, 7)),
                    windows_of(zeros(x, 1, 0, 1), (3, 2, 2), (2, 1, 2)).mean((5, 6, 7))))
    case("x: Tensor[B, 6, 7, 8, 3, f32]", "adaptive_avg_pool3d(x, (1, 1, 1))", [volume],
         lambda x: x.mean((1, 2, 3), keepdims=True))
    last = lambda x: np.moveaxis(x, 1, 3)
    case("x: Tensor[B, 6, 7, 9, f32]", "max_pool2d_nchw(x, (2, 3)), avg_pool2d_nchw(x, (2, 2), padding=(1, 0)), "
         "adaptive_avg_pool2d_nchw(x, (1, 1))", [image],
         lambda x: (np.moveaxis(windows_of(last(x), (2, 3), (2, 3)).max((4, 5)), 3, 1),
                    np.moveaxis(windows_of(zeros(last(x), 1, 0), (2, 2), (2, 2)).mean((4, 5)), 3, 1),
                    x.mean((2, 3), keepdims=True)), units=8)


def numbers_for_all_axes():
    """One number in place of a tuple is that of every axis."""
    x, w, volume = normal(2, 9, 8, 6), normal(3, 3, 6, 6), normal(2, 6, 7, 8, 3)
    both = "x: Tensor[B, 9, 8, 6, f32], w: Tensor[3, 3, 6, 6, f32]"
    case(both, "conv2d(x, w, strides=2, padding=1), conv2d(x, w, padding=(1, 0), dilation=2), "
         "conv_transpose2d(x, w, strides=2, padding=1, output_padding=1)", [x, w],
         lambda x, w: (convolved(x, w, (2, 2), (1, 1), (1, 1), 1), convolved(x, w, (1, 1), (1, 0), (2, 2), 1),
                       deconvolved(x, w, (2, 2), (1, 1), (1, 1), (1, 1), 1)))
    kernel = normal(2, 2, 2, 3, 4)
    case("x: Tensor[B, 6, 7, 8, 3, f32], w: Tensor[2, 2, 2, 3, 4, f32]",
         "conv3d(x, w, strides=2, padding=1), max_pool3d(x, 2, strides=1), avg_pool3d(x, 3, strides=(1, 2, 2)), "
         "adaptive_avg_pool3d(x, 1)", [volume, kernel],
         lambda x,
         w: (convolved(x, w, (2, 2, 2), (1, 1, 1), (1, 1, 1), 1), windows_of(x, (2, 2, 2), (1, 1, 1)).max((5, 6, 7)),
                       windows_of(x, (3, 3, 3), (1, 2, 2)).mean((5, 6, 7)), x.mean((1, 2, 3), keepdims=True)))
    case("x: Tensor[B, H, W, 6, f32] where H >= 3, W >= 3", "max_pool2d(x, 3), avg_pool2d(x, 2, strides=1)", [x],
         lambda x: (windows_of(x, (3, 3), (3, 3)).max((4, 5)), windows_of(x, (2, 2), (1, 1)).mean((4, 5))))
